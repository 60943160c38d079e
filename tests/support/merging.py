"""Random three-way merges, git's answer to them, and the rules that every clean merge keeps."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

DOSE: Final = float(os.environ.get("FILETOOLS_DOSE", "1"))

Merge = Callable[[str, str, str], str | None]
"""Merges base, ours and theirs; None is a conflict."""


def random_texts(random: Random, *, ends: tuple[str, ...] = ("\n",)) -> tuple[str, str, str]:
    """Return a base and two versions of it: from texts of one line repeated to texts of lines that are all different."""
    variety = random.choice([1, 2, 3, 5, 10, 100, 1000])
    base = [_line(random, variety, ends) for _ in range(random.choice([0, 3, 6, 12, 25, 60]))]
    ours, theirs = ("".join(_changed(random, base, variety, ends)) for _ in range(2))
    return "".join(base), ours, theirs


MARKERS: Final = ("<<<<<<< ours\n", "||||||| base\n", "=======\n", ">>>>>>> theirs\n")
Texts = tuple[str, str, str]


def repeating_texts(random: Random) -> Texts:
    """Return texts of one or two lines repeated, so that a change could mean many places."""
    base = [_line(random, random.choice([1, 2]), ("\n",)) for _ in range(random.choice([3, 12, 60]))]
    ours, theirs = ("".join(_changed(random, base, 2, ("\n",))) for _ in range(2))
    return "".join(base), ours, theirs


def moving_texts(random: Random) -> Texts:
    """Return texts of which one side or both have blocks moved."""
    base = [f"line {number}\n" for number in range(24)]
    sides = []
    for _ in range(2):
        lines = list(base)
        start = random.randrange(20)
        block = [lines.pop(start) for _ in range(random.choice([1, 3, 4]))]
        at = random.randrange(len(lines) + 1)
        lines[at:at] = block
        sides.append("".join(_changed(random, lines, 1000, ("\n",))))
    return "".join(base), sides[0], sides[1]


def marked_texts(random: Random) -> Texts:
    """Return texts with lines that look like the marks of a conflict."""

    def marked(text: str) -> str:
        lines = text.splitlines(keepends=True)
        for mark in random.sample(MARKERS, random.randrange(5)):
            lines.insert(random.randrange(len(lines) + 1), mark)
        return "".join(lines)

    base, ours, theirs = random_texts(random)
    return marked(base), marked(ours), marked(theirs)


def converted_texts(random: Random) -> Texts:
    """Return texts of which some sides have other line ends than the base as a whole."""
    base, ours, theirs = random_texts(random, ends=(random.choice(["\n", "\r\n"]),))
    return base, _converted(random, ours), _converted(random, theirs)


def _converted(random: Random, text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", random.choice(["\n", "\r\n"]))


def unended_texts(random: Random) -> Texts:
    """Return texts of which some lack the end of their last line, in LF or CRLF."""
    end = random.choice(["\n", "\r\n"])
    base, ours, theirs = (text.removesuffix(random.choice([end, ""])) for text in random_texts(random, ends=(end,)))
    return base, ours, theirs


ADVERSARIAL: Final[dict[str, Callable[[Random], Texts]]] = {
    "repeats": repeating_texts,
    "moved blocks": moving_texts,
    "conflict markers": marked_texts,
    "converted line ends": converted_texts,
    "no final end": unended_texts,
}


def unique_texts(random: Random) -> tuple[str, str, str]:
    """Return a base and two versions of it in which no side has a line twice or one that the other side added."""
    base = [f"b{number}\n" for number in range(random.randrange(12))]
    found = []
    for side in "ot":
        lines = [line for line in base if random.random() < 0.85]
        for number in range(random.randrange(4)):
            lines.insert(random.randrange(len(lines) + 1), f"{side}{number}\n")
        if lines and random.random() < 0.3:
            lines.insert(random.randrange(len(lines)), lines.pop(random.randrange(len(lines))))
        found.append("".join(lines))
    return "".join(base), found[0], found[1]


def lost_lines(base: str, ours: str, theirs: str, merged: str) -> set[str]:
    """Return the lines that both sides kept or one side added and the merged text lacks, of texts of unique lines."""
    old, first, second = (set(text.splitlines()) for text in (base, ours, theirs))
    return ((first & second) | (first - old) | (second - old)) - set(merged.splitlines())


def broken_rules(merge: Merge, base: str, ours: str, theirs: str) -> list[str]:
    """Return which rules a merge breaks on one random triple of `unique_texts`."""
    broken = []
    merged = merge(base, ours, theirs)
    if merged is not None and lost_lines(base, ours, theirs, merged):
        broken.append("a line was lost")
    if merge(base, theirs, ours) != merged:
        broken.append("the sides are not alike")
    if merge(base, ours, base) != ours or merge(base, base, theirs) != theirs:
        broken.append("one side alone does not pass")
    if merge(base, ours, ours) != ours:
        broken.append("the same change twice is not one")
    return broken


def git_merges(folder: Path, triples: Sequence[Texts]) -> list[str | None]:
    """Merge each base, ours and theirs as `git merge-file` does, all in one merge of two branches with a file each.

    A process for each triple would take ten times as long as our own merge.
    """
    _git(folder, "init", "-q")
    _git(folder, "fast-import", "--quiet", feed=b"".join(_branches(triples)))
    _git(folder, "checkout", "-q", "ours")
    merging = [
        "merge",
        "-q",
        "--no-edit",
        "-s",
        "recursive",
        "-X",
        "no-renames",
        "-X",
        "diff-algorithm=myers",
        "theirs",
    ]
    _git(folder, "-c", "merge.conflictStyle=diff3", *merging, may_fail=True)
    unmerged = _git(folder, "diff", "-z", "--name-only", "--diff-filter=U").decode().split("\0")
    conflicts = set(unmerged)
    return [
        None if name in conflicts else (folder / name).read_bytes().decode() for name in map(str, range(len(triples)))
    ]


def _branches(triples: Sequence[Texts]) -> Iterator[bytes]:
    for side, branch in enumerate(("base", "ours", "theirs")):
        yield f"commit refs/heads/{branch}\ncommitter a <a@example.org> 0 +0000\ndata 0\n".encode()
        yield b"from refs/heads/base\n" if side else b""
        for number, texts in enumerate(triples):
            content = texts[side].encode()
            yield b"M 644 inline %d\ndata %d\n%b\n" % (number, len(content), content)


def _git(folder: Path, *arguments: str, feed: bytes = b"", may_fail: bool = False) -> bytes:
    names = {
        "user.name": "a",
        "user.email": "a@example.org",
        "core.autocrlf": "false",
        "core.attributesFile": os.devnull,
    }
    settings = [part for name, value in names.items() for part in ("-c", f"{name}={value}")]
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, input=feed, capture_output=True, check=False)
    assert done.returncode == 0 or (may_fail and done.returncode == 1), done.stderr
    return done.stdout


def _line(random: Random, variety: int, ends: tuple[str, ...]) -> str:
    return f"line {random.randrange(variety)}{random.choice(ends)}"


def _changed(random: Random, base: list[str], variety: int, ends: tuple[str, ...]) -> list[str]:
    lines = list(base)
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        start = random.randrange(len(lines) + 1)
        end = min(len(lines), start + random.choice([0, 0, 1, 1, 2, 3]))
        way = random.random()
        if way < 0.12:
            block = lines[start:end]
            del lines[start:end]
            at = random.randrange(len(lines) + 1)
            lines[at:at] = block
        elif way < 0.2:
            lines[start:start] = lines[start:end]
        else:
            lines[start:end] = [_line(random, variety, ends) for _ in range(random.choice([0, 1, 1, 2, 3]))]
    return lines
