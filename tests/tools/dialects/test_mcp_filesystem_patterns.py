"""Globs of the dialect mcp-filesystem: compared with whole paths, never slow. The original's are run beside them elsewhere."""

from __future__ import annotations

import pytest

from filetools.errors import InvalidArgumentError
from filetools.tools.dialects.mcp_filesystem.looking import Exclusion, PathGlob
from tests.support import inside
from tests.support.backtracking import ways_back


@pytest.mark.parametrize("pattern", ["x" * 4097, "{a,b}" * 9, "{" + "a," * 300 + "a}"])
def test_what_would_stand_for_too_much_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidArgumentError):
        PathGlob(pattern)


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
        ("{a,b}.txt", ["a.txt", "b.txt"], ["c.txt", "{a,b}.txt"]),
        ("{a,{b,c}/d}.txt", ["a.txt", "b/d.txt", "c/d.txt"], ["b.txt", "d.txt"]),
        ("{a}", ["{a}"], ["a"]),
        ("!*.txt", ["a.py", "src/a.txt"], ["a.txt"]),
        ("!!*.txt", ["a.txt"], ["a.py"]),
        ("a\\*", ["a*"], ["ab"]),
        ("", [""], ["a"]),
    ],
)
def test_a_glob_fits_whole_paths(pattern: str, fitting: list[str], others: list[str]) -> None:
    glob = PathGlob(pattern)
    assert [path for path in (*fitting, *others) if glob.matches(path)] == fitting


def test_a_name_is_left_out_at_any_depth_where_that_is_asked_for() -> None:
    assert Exclusion(["x"], names=True).excludes("a/b/x")
    assert Exclusion(["x"], names=True).excludes("a/x/b")
    assert not Exclusion(["x"]).excludes("a/x")
    assert not Exclusion(["*.x"], names=True).excludes("a/b.x")


@pytest.mark.parametrize("pattern", ["*a" * 200 + "b", "**/" * 100 + "x", "a*" * 500 + "!", "[" * 1000])
def test_no_glob_takes_long(pattern: str) -> None:
    glob, path = PathGlob(pattern), "a" * 2000 + "/" + "a/" * 500
    assert ways_back(inside.expression_of(glob)) <= 2
    assert not glob.matches(path)
