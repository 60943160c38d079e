from __future__ import annotations

import os
import random
import subprocess
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from filetools.paths.ignore import (
    MAX_DEEP_RULES,
    MAX_WILDCARD_BYTES,
    IgnoreRules,
    IgnoreStack,
)
from tests.support.backtracking import ways_back
from tests.support.dose import dose
from tests.support.step_count import steps_of

GIT_ENVIRONMENT: Final = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
BOMB_BYTES: Final = MAX_WILDCARD_BYTES // 8
"""Enough to show how each line is compiled and matched; the time of a file grows with its bytes."""
PIECES: Final = (
    *("a", "b", "ab", "foo", "bar", "x.c", "*", "**", "***", "?", "??", "/", "/", "**/", "/**", "/**/"),
    *("[ab]", "[!a]", "[^b]", "[a-c]", "[z-a]", "[]a]", "[a", "[a-]", "[-a]", "[\\]]", "[a/b]", "[a\\-c]", "[!a-]"),
    *(
        "[--0]",
        "[[:alpha:]]",
        "[![:digit:]]",
        "[[:foo:]]",
        "[[:space:]x]",
        "[[:x]",
        "[[:upper:][:digit:]]",
        "[[:punct:]]",
    ),
    *("[*]", "\\a", "\\*", "\\?", "\\[", "\\", "\\/", "\\ ", " ", "!", "#", "~", ".", "-", "\t", "é", "[é]", "{a,b}"),
)
NAMES: Final = (
    *("a", "b", "ab", "aab", "ba", "aa", "foo", "bar", "x.c", "abfoo", "foobar", "fooab", "bfoo", "c", "x", "1", "a1"),
    *("é", "a b", "foo ", "a\tb", "]", "-", "--", "*", "a*", "[", "A", "#a", "!a", "\\a", "~", "{a,b}", "0", "..."),
)


@pytest.mark.parametrize("line", ["[a", "[[:alpha:", "x[[:word:]]", "foo\\", "!", "/", "a\0b", "a" * 4097])
def test_bad_line_is_skipped(line: str) -> None:
    rules = IgnoreRules.parse(f"good\n{line}\n*.o\n")
    assert [rules.match(path, False) for path in ("good", "x.o", line[:200])] == [True, True, None]


def test_blank_lines_and_comments_match_nothing() -> None:
    rules = IgnoreRules.parse("\n   \n# comment\r\n\r\n")
    assert rules.is_empty
    assert rules.match("# comment", False) is None


def test_byte_order_mark_and_carriage_returns_vanish() -> None:
    rules = IgnoreRules.parse(b"\xef\xbb\xbfa\r\nb\r\n")
    assert [rules.match(name, False) for name in ("a", "b", "b\r")] == [True, True, None]


def test_rules_hold_below_their_folder_only() -> None:
    rules = IgnoreRules.parse("/x\ny\na/z\n", base="sub")
    paths = ["sub/x", "sub/q/x", "x", "subx", "sub/q/y", "y", "sub/a/z", "a/z", "sub"]
    assert [rules.match(path, False) for path in paths] == [True, None, None, None, True, None, True, None, None]


def test_names_that_are_not_utf8_are_matched_by_bytes() -> None:
    rules = IgnoreRules.parse(b"caf??\n\xff*\n")
    assert [rules.match(name, False) for name in ("café", "cafe", "\udcffx")] == [True, None, True]


def test_file_below_an_ignored_folder_is_not_taken_back() -> None:
    stack = IgnoreStack((IgnoreRules.parse("build/\n!build/keep\n"),))
    assert stack.ignores("build/keep", False)


def test_inner_file_overrules_outer_file() -> None:
    stack = IgnoreStack((IgnoreRules.parse("*.log\n"),)).push(IgnoreRules.parse("!keep.log\n", base="sub"))
    assert [stack.ignores(path, False) for path in ("keep.log", "sub/keep.log", "sub/x.log")] == [True, False, True]


def _pattern(chance: random.Random) -> str:
    text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 6)))
    text = ("!" if chance.random() < 0.2 else "") + ("/" if chance.random() < 0.2 else "") + text
    return text + ("/" if chance.random() < 0.2 else "") + (" " if chance.random() < 0.1 else "")


def _content(chance: random.Random) -> str:
    end = chance.choice(["\n", "\n", "\r\n"])
    return end.join(_pattern(chance) for _ in range(chance.randint(1, 4))) + chance.choice(["", end])


class GitRepository:
    """Asks git itself, in a tree whose folders exist."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        subprocess.run(["git", "init", "-q", root], env=GIT_ENVIRONMENT, check=True)
        every = {"/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 4))) for _ in range(400)}
        self.folders = sorted({path for path in every if chance.random() < 0.5} | {"a/b", "foo/bar"})
        for folder in self.folders:
            os.makedirs(root / folder, exist_ok=True)
        self.rows = [(path, (root / path).is_dir()) for path in sorted(every | set(self.folders))]

    def write(self, files: dict[str, str]) -> None:
        for old in self.root.rglob(".gitignore"):
            old.unlink()
        for folder, content in files.items():
            (self.root / folder / ".gitignore").write_bytes(content.encode())

    def ignored(self, paths: list[str]) -> list[bool]:
        # git reads the list from a file of NUL-ended names; it crashes on some orders, so deep paths come last.
        answer = subprocess.run(
            ["git", "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n"],
            input="".join(f"{path}\0" for path in paths).encode(),
            cwd=self.root,
            env=GIT_ENVIRONMENT,
            capture_output=True,
            check=False,
        )
        assert answer.returncode in (0, 1), answer.stderr
        fields = answer.stdout.split(b"\0")[:-1]
        patterns = fields[2::4]
        assert len(patterns) == len(paths)
        return [bool(pattern) and not pattern.startswith(b"!") for pattern in patterns]


def _filtered(stack_of: dict[str, IgnoreRules], path: str, is_directory: bool) -> bool:
    """Answer as a walk would, folder by folder."""
    stack, names = IgnoreStack(), path.split("/")
    for depth, name in enumerate(names):
        folder = "/".join(names[:depth])
        stack = stack.push(stack_of[folder]) if folder in stack_of else stack
        name_filter = stack.in_directory(folder)
        if name_filter is not None and not name_filter([name], is_directory or depth < len(names) - 1):
            return True
    return False


@pytest.mark.parametrize("seed", range(dose(3)))
def test_git_agrees_on_tricky_patterns(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    repository = GitRepository(tmp_path, chance)
    differences, ignored = [], 0
    for _ in range(15):
        nested = [folder for folder in ("a", "a/b", "foo") if chance.random() < 0.3]
        files = {folder: _content(chance) for folder in ("", *nested)}
        repository.write(files)
        rows = sorted(chance.sample(repository.rows, 60), key=lambda row: (row[0].count("/"), row[0]))
        expected = repository.ignored([path for path, _ in rows])
        rules = {folder: IgnoreRules.parse(content, folder) for folder, content in files.items()}
        stack = IgnoreStack(tuple(rules.values()))
        for (path, is_directory), wanted in zip(rows, expected, strict=True):
            ignored += wanted
            answers = (stack.ignores(path, is_directory), _filtered(rules, path, is_directory))
            if answers != (wanted, wanted):
                differences.append((files, path, is_directory, wanted, answers))
    assert differences == []
    assert ignored > 20  # else the patterns would be too strange to show anything


HOSTILE_PATHS: Final = [
    "a" * 255,
    "a" * 254 + "b",
    "/".join(["a" * 255] * 15),
    "a/" * 2000 + "b",
    "ab" * 127,
    "x.py",
]


@pytest.mark.parametrize(
    "line",
    [
        "*a" * 60 + "*b",
        "**/*a*a*a*a*a*a*b/**/c",
        "**/a/" * 400 + "c",
        "*" + "[ab]" * 200 + "c*",
        "*" + "?" * 200 + "c*d",
        "**/" + "?/" * 500 + "b",
        "a*" * 100 + "/**/" + "b*" * 100 + "c",
    ],
)
def test_bombs_are_never_tried_again_and_again(line: str) -> None:
    lines = [f"{line}{number}" for number in range(max(2, BOMB_BYTES // len(line)))]
    rules = IgnoreRules.parse("\n".join(lines))
    assert all(ways_back(expression) <= 2 for expression in _expressions(rules))
    assert [rules.match(path, False) for path in HOSTILE_PATHS] == [None] * len(HOSTILE_PATHS)


def _expressions(rules: IgnoreRules) -> list[str]:
    """Return the regular expressions behind rules."""
    compiled = [one for side in rules._sides for one in (side._wild_names, side._wild_paths) if one is not None]
    return [match.__self__.pattern for match, _ in compiled]  # type: ignore[attr-defined]


@pytest.mark.parametrize("line", ["name-{}", "*.ending{}", "start{}*", "dir/sub{}/x", "!{}", "[a{}"])
def test_a_path_costs_the_same_however_many_rules_a_file_has(line: str) -> None:
    steps = []
    for count in (1_000, 10_000):
        rules = IgnoreRules.parse("\n".join(line.format(f"{number:05}") for number in range(count)))
        paths = [*HOSTILE_PATHS, f"name-{count - 1:05}", f"x.ending{count - 1:05}"]
        steps.append([steps_of(partial(rules.match, path, False)) for path in paths])
        assert _expressions(rules) == []
    assert steps[0] == steps[1]


def test_deep_rules_beyond_the_bound_are_skipped() -> None:
    rules = IgnoreRules.parse("\n".join(f"a/**/b{number}" for number in range(MAX_DEEP_RULES + 1)))
    assert [rules.match(path, False) for path in ("a/x/b255", "a/x/b256")] == [True, None]


def test_wildcards_beyond_the_bound_are_skipped() -> None:
    line = "*a*" + "b" * 1020
    count = MAX_WILDCARD_BYTES // len(line)
    rules = IgnoreRules.parse("\n".join([line] * count) + "\n*c*" + "d" * 1020 + "\nplain\n")
    assert [rules.match(path, False) for path in ("a" + "b" * 1020, "c" + "d" * 1020, "plain")] == [True, None, True]
