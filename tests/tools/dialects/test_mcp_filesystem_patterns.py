"""Globs of the dialect mcp-filesystem: compared with whole paths."""

from __future__ import annotations

import pytest

from filetools.errors import InvalidArgumentError
from filetools.tools.dialects.mcp_filesystem.looking import matcher


@pytest.mark.parametrize("pattern", ["x" * 4097, "{a,b}" * 9, "{" + "a," * 300 + "a}"])
def test_what_would_stand_for_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidArgumentError):
        matcher([pattern])


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("*.py", ["a.py", ".py"], ["src/a.py", "a.pyc", "py"]),
        ("**/*.py", ["a.py", "src/a.py", "src/sub/a.py"], ["a.pyc"]),
        ("src/**", ["src/a", "src/a/b"], ["src2/a", "a/src/b"]),
        ("src/*/x", ["src/a/x"], ["src/x", "src/a/b/x"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
        ("[!a]x", ["bx"], ["ax", "/x"]),
        ("[]x", ["[]x"], ["x"]),
        ("{a,b}.txt", ["a.txt", "b.txt", "{a,b}.txt"], ["c.txt"]),
        ("!*.txt", ["a.py", "src/a.txt"], ["a.txt"]),
        ("!!*.txt", ["a.txt"], ["a.py"]),
        ("", [], ["a", "src/a"]),
    ],
)
def test_a_glob_fits_whole_paths(pattern: str, fitting: list[str], others: list[str]) -> None:
    matches = matcher([pattern])
    assert [path for path in (*fitting, *others) if matches(path)] == fitting
