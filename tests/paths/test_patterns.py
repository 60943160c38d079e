from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.errors import InvalidArgumentError
from filetools.paths.patterns import Glob, compile_patterns, glob_below, is_glob
from filetools.settings import DEFAULT_EXCLUDES


@pytest.mark.parametrize("pattern", ["", " ", "/", " / ", "a" * 257, "a<b", "a>b", 'a"b', "a|b"])
def test_invalid_pattern_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        compile_patterns(["fine", pattern])
    assert repr(pattern)[:20] in caught.value.message


@pytest.mark.parametrize(
    ("pattern", "path", "is_directory", "expected"),
    [
        ("node_modules", "node_modules", True, True),
        ("node_modules", "a/b/node_modules", True, True),
        ("node_modules", "a/node_modules/c/d.js", False, True),
        ("node_modules", "node_modules2", True, False),
        ("*.swp", "a/.x.swp", False, True),
        ("*.swp", "a.swpx", False, False),
        (".env.*.local", "x/.env.dev.local", False, True),
        (".env.*.local", ".env.local", False, False),
        ("a?c", "abc", False, True),
        ("a?c", "ac", False, False),
        ("a?c", "a/c", False, False),
        ("src/*.py", "src/a.py", False, True),
        ("src/*.py", "src/sub/a.py", False, False),
        ("src/*.py", "other/src/a.py", False, False),
        ("/build", "build", True, True),
        ("/build", "a/build", True, False),
        ("build/", "build", True, True),
        ("build/", "build", False, False),
        ("build/", "a/build/x", False, True),
        ("a/b/", "a/b", False, False),
        ("**/x.py", "a/b/x.py", False, True),
        ("a/**/b", "a/b", False, True),
        ("a/**/b", "a/x/y/b", False, True),
        ("a/**/b", "ab", False, False),
        ("a/**/b", "x/a/b", False, False),
        ("a/**", "a", True, False),
        ("a/**", "a/b", False, True),
        ("**/a/**/b/*.c", "x/a/b/y.c", False, True),
        ("**/a/**/b/*.c", "x/a/q/y.c", False, False),
        ("x**y", "xzzy", False, True),
        ("[id].tsx", "app/[id].tsx", False, True),
        ("[id].tsx", "app/i.tsx", False, False),
        ("src\\gen", "src/gen/x", False, True),
        ("é*", "é.txt", False, True),
    ],
)
def test_exclude_rule(pattern: str, path: str, is_directory: bool, expected: bool) -> None:
    assert compile_patterns([pattern]).matches(path, is_directory) is expected


def test_defaults_leave_out_what_the_documentation_names() -> None:
    rules = compile_patterns([], defaults=DEFAULT_EXCLUDES)
    names = [".git", "node_modules", ".DS_Store", "Thumbs.db", "a.swp", "a.swo", ".env.local", ".env.x.local", "a.py"]
    assert [name for name in names if not rules.matches(name, False)] == [
        ".git",
        "a.py",
    ]  # the file of a linked work tree
    assert rules.matches(".git", True)


@given(
    st.lists(st.sampled_from(["a", "*b", "c?", "/a", "a/b", "**/c", "a/**", "b/", "a/*/c/", "*"]), max_size=4),
    st.lists(st.sampled_from(["a", "b", "c", "ab", "cb"]), min_size=1, max_size=4),
    st.booleans(),
)
def test_filter_of_a_folder_agrees_with_whole_paths(patterns: list[str], names: list[str], is_directory: bool) -> None:
    rules = compile_patterns(patterns)
    pruned = itself = False
    for depth, name in enumerate(names):
        name_filter = rules.in_directory("/".join(names[:depth]))
        pruned = pruned or (name_filter is not None and not name_filter([name], is_directory or depth < len(names) - 1))
        itself = itself or rules.ignores_itself("/".join(names[: depth + 1]), is_directory or depth < len(names) - 1)
    assert rules.matches("/".join(names), is_directory) is pruned is itself


@pytest.mark.parametrize("pattern", ["", "/", "a" * 4097])
def test_glob_of_no_or_too_many_characters_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidArgumentError):
        Glob(pattern)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "a/b/c.py", True),
        ("/*.py", "a/c.py", False),
        ("/*.py", "c.py", True),
        ("src/*.py", "src/c.py", True),
        ("src/*.py", "src/d/c.py", False),
        ("src/**/*.py", "src/c.py", True),
        ("src/**/*.py", "src/d/e/c.py", True),
        ("src/**", "src/d/e", True),
        ("**/*.py", "c.py", True),
        ("[a-c].x", "b.x", True),
        ("[!a-c].x", "b.x", False),
        ("[^a-c].x", "d.x", True),
        ("[]].x", "].x", True),
        ("[z-a].x", "m.x", False),
        ("[*]", "a", False),
        ("[ab", "[ab", True),
        ("a[/]b", "a/b", False),
        ("[é-ü]", "ö", True),
        ("a?b", "a/b", False),
        ("*", ".hidden", True),
        ("[\\d]", "7", False),
    ],
)
def test_glob(pattern: str, path: str, expected: bool) -> None:
    assert Glob(pattern).matches(path) is expected


@given(
    st.text(alphabet="ab*?[]!-", min_size=1, max_size=9).filter(lambda text: "[^" not in text),
    st.text(alphabet="ab]-!", min_size=1, max_size=9),
)
def test_glob_of_a_name_agrees_with_fnmatch(pattern: str, name: str) -> None:
    assert Glob(pattern).matches(name) == fnmatchcase(name, pattern)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 40 + "*b", "a" * 250),
        ("*a" * 40 + "*b", "a" * 4096),
        ("**/a/" * 40 + "b", "a/" * 2000 + "c"),
        ("*?" * 40 + "b", "a" * 250),
        ("*[ab]" * 40 + "c", "ab" * 120),
        ("**/*a*" * 20 + "b", "aaaa/" * 800 + "a"),
    ],
)
def test_runaway_patterns_stay_linear(pattern: str, path: str) -> None:
    matchers: list[Callable[[str], bool]] = [
        Glob(pattern).matches,
        lambda text: compile_patterns([pattern]).matches(text, False),
    ]
    for matches in matchers:
        assert not matches(path)  # one that tries again and again would not end


@pytest.mark.parametrize(
    ("folder", "pattern", "expected"),
    [
        ("", "*.py", "*.py"),
        ("src", "*.py", "*.py"),
        ("src", "/*.py", "src/*.py"),
        ("src", "./a/*.py", "src/a/*.py"),
        ("", "/*.py", "/*.py"),
        ("", "src/**/*.py", "/src/**/*.py"),
        ("a[1]", "b/*", "a[[]1]/b/*"),
        ("", "app.py", "[a]pp.py"),
        ("src", "b/app.py", "[s]rc/b/app.py"),
    ],
)
def test_a_pattern_of_a_folder_becomes_one_from_the_root(folder: str, pattern: str, expected: str) -> None:
    assert glob_below(folder, pattern) == expected
    assert is_glob(expected)


def test_a_pattern_of_a_folder_cannot_lead_out_of_it() -> None:
    with pytest.raises(InvalidArgumentError):
        glob_below("src", "../*.py")
