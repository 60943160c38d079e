"""Absolute paths and the workspaces that they belong to."""

from __future__ import annotations

import pytest

from filetools.errors import AbsolutePathError, PathTooLongError
from filetools.tools import Root, Roots
from tests.support.memory_files import MemoryFiles


@pytest.fixture
async def roots() -> Roots:
    outer, inner, third = MemoryFiles.of(), MemoryFiles.of(), MemoryFiles.of()
    return Roots(
        [
            Root(files=outer, spellings=("/work", "/mnt/real")),
            Root(files=inner, spellings=("/work/inner",)),
            Root(files=third, spellings=("/part/of",), base="of"),
        ]
    )


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/", "/workshop/a", "/work2", "/mnt", "/part", "C:/work/a", "C:a", "\\\\work\\a", "//server/work"]
)  # fmt: skip
async def test_an_absolute_path_outside_all_roots_is_refused(roots: Roots, path: str) -> None:
    with pytest.raises(AbsolutePathError):
        roots.locate(path)


async def test_a_path_of_any_length_is_refused_without_repeating_it(roots: Roots) -> None:
    with pytest.raises(PathTooLongError) as caught:
        roots.locate("/work/" + "x" * 1_000_000)
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("path", "index", "inside", "absolute"),
    [
        ("/work", 0, "", "/work"),
        ("/work/a.txt", 0, "a.txt", "/work/a.txt"),
        ("//work/./src//a.txt/", 0, "src/a.txt", "/work/src/a.txt"),
        ("/mnt/real/a.txt", 0, "a.txt", "/mnt/real/a.txt"),
        ("/work/inner/a.txt", 1, "a.txt", "/work/inner/a.txt"),
        ("/work/inner", 1, "", "/work/inner"),
        ("/work/innermost", 0, "innermost", "/work/innermost"),
        ("/part/of/a.txt", 2, "of/a.txt", "/part/of/a.txt"),
        ("/part/of", 2, "of", "/part/of"),
        ("a.txt", 0, "a.txt", "/work/a.txt"),
        ("", 0, "", "/work"),
        (".", 0, "", "/work"),
    ],
)
async def test_the_longest_root_has_the_path(roots: Roots, path: str, index: int, inside: str, absolute: str) -> None:
    place = roots.locate(path)
    served = [roots.locate(folder).root for folder in ("/work", "/work/inner", "/part/of")]
    assert (served.index(place.root), place.path, place.absolute) == (index, inside, absolute)


async def test_the_rules_of_paths_stay_with_the_workspace(roots: Roots) -> None:
    """A segment ".." is not looked at here, so that no spelling of it gets past the one validator."""
    assert roots.locate("/work/../etc/passwd").path == "../etc/passwd"
    assert roots.locate("/work/inner/../../etc").path == "../../etc"
    assert roots.locate("../etc/passwd").path == "../etc/passwd"


async def test_a_root_that_is_everything_has_every_path() -> None:
    place = Roots([Root(files=MemoryFiles.of(), spellings=("/",))]).locate("/etc/hosts")
    assert (place.path, place.absolute) == ("etc/hosts", "/etc/hosts")
