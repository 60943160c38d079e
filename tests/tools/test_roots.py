"""Absolute paths and the workspaces that they belong to."""

from __future__ import annotations

import pytest

from filetools.errors import AbsolutePathError, PathTooLongError
from filetools.facade.facade import FileToolsFacade
from filetools.tools.roots import Root, Roots
from tests.support.people import ALICE, BOB

ACTOR = ALICE
BEFORE = {"a.txt": b"one\ntwo\n", "docs/b.txt": b"b"}


@pytest.fixture
async def roots(files: FileToolsFacade) -> Roots:
    outer, inner, third = files, files.for_actor(ALICE), files.for_actor(BOB)
    return Roots(
        [
            Root(files=outer, spellings=("/ward", "/mnt/real")),
            Root(files=inner, spellings=("/ward/inner",)),
            Root(files=third, spellings=("/part/of",), base="of"),
        ]
    )


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/", "/wardshop/a", "/ward2", "/mnt", "/part", "C:/ward/a", "C:a", "\\\\work\\a", "//server/ward"]
)  # fmt: skip
async def test_an_absolute_path_outside_all_roots_is_refused(roots: Roots, path: str) -> None:
    with pytest.raises(AbsolutePathError):
        roots.locate(path)


async def test_a_path_of_any_length_is_refused_without_repeating_it(roots: Roots) -> None:
    with pytest.raises(PathTooLongError) as caught:
        roots.locate("/ward/" + "x" * 1_000_000)
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("path", "index", "inside", "absolute"),
    [
        ("/ward", 0, "", "/ward"),
        ("//ward/./src//a.txt/", 0, "src/a.txt", "/ward/src/a.txt"),
        ("/mnt/real/a.txt", 0, "a.txt", "/mnt/real/a.txt"),
        ("/ward/inner/a.txt", 1, "a.txt", "/ward/inner/a.txt"),
        ("/ward/innermost", 0, "innermost", "/ward/innermost"),
        ("/part/of/a.txt", 2, "of/a.txt", "/part/of/a.txt"),
        ("a.txt", 0, "a.txt", "/ward/a.txt"),
        ("", 0, "", "/ward"),
    ],
)
async def test_the_longest_root_has_the_path(roots: Roots, path: str, index: int, inside: str, absolute: str) -> None:
    place = roots.locate(path)
    served = [roots.locate(folder).root for folder in ("/ward", "/ward/inner", "/part/of")]
    assert (served.index(place.root), place.path, place.absolute) == (index, inside, absolute)


async def test_the_rules_of_paths_stay_with_the_workspace(roots: Roots) -> None:
    """A segment ".." is not looked at here, so that no spelling of it gets past the one validator."""
    assert roots.locate("/ward/../etc/passwd").path == "../etc/passwd"
    assert roots.locate("/ward/inner/../../etc").path == "../../etc"
    assert roots.locate("../etc/passwd").path == "../etc/passwd"


async def test_a_root_that_is_everything_has_every_path(files: FileToolsFacade) -> None:
    place = Roots([Root(files=files, spellings=("/",))]).locate("/etc/hosts")
    assert (place.path, place.absolute) == ("etc/hosts", "/etc/hosts")


async def test_of_what_is_served_no_more_nothing_is_told(files: FileToolsFacade) -> None:
    root, paths = files.root_paths[0], ["a.txt", "docs/b.txt", "documents.txt"]
    for text, roots, told in (
        ("1", Roots.of(files), [f"{root}/{path}" for path in paths]),
        ("2", Roots.of(files).narrowed([("/link", f"{root}/docs")]), ["/link/b.txt"]),
        ("3", Roots.of(files).narrowed([("/elsewhere",)]), []),
    ):
        for path in paths:
            if await files.exists(path):
                await files.read_file(path)
            else:
                await files.write_file(path, "")
            await files.for_actor(BOB).write_file(path, text)
        assert [each.path for each in roots.changed_since_read()] == told
        files.changed_since_read()


@pytest.mark.parametrize(
    ("folders", "served"),
    [
        ([("/warder",), ("/part",)], ["/part/of"]),
        ([("/ward",)], ["/ward"]),
        ([("/",)], ["/mnt/real", "/part/of", "/ward", "/ward/inner"]),
        ([("/link", "/mnt/real/x"), ("/ward/inner/y",), ("/mnt/real/x",)], ["/link", "/mnt/real/x", "/ward/inner/y"]),
    ],
)
async def test_folders_narrow_what_is_served(roots: Roots, folders: list[tuple[str, ...]], served: list[str]) -> None:
    assert sorted(roots.narrowed(folders).folders) == served


async def test_with_no_root_every_path_is_refused() -> None:
    for path in ("", "a.txt", "/a.txt"):
        with pytest.raises(AbsolutePathError):
            Roots([]).locate(path)
