"""Decisions over several files."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from filetools.changes.knowledge import Knowledge
from filetools.changes.patching import (
    PatchAnswer,
    PatchTarget,
    decide_patch,
    decide_together,
    refuse_repeats,
)
from filetools.changes.tree_decisions import DeleteAnswer, decide_delete
from filetools.changes.writing import NewText, WriteAnswer, decide_write
from filetools.content.patches import parse_patch
from filetools.content.version import version_of
from filetools.errors import BatchFailedError, FileToolsError, InvalidArgumentError
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Decided, MakeFolder, Move, Put, Remove, TreeOperation
from tests.changes.trees import seen_of, tree_of

NOBODY: Final = Knowledge(actor=Actor(kind="agent", id="a"))
SETTINGS: Final = Settings()
SEEN: Final = seen_of(tree_of({"a": b"one\ntwo\n", "b": b"b\n", "c": b"\0", "d": None}))


def patch(text: str) -> Decided:
    targets = [
        PatchTarget(
            patch=each, path=WorkspacePath(each.path), knowledge=NOBODY,
            to=None if each.move_to is None else WorkspacePath(each.move_to),
        )
        for each in parse_patch(text)
    ]  # fmt: skip
    return decide_patch(SEEN, targets=targets, settings=SETTINGS)


def codex(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch", ""))


UPDATE: Final = ("@@", "-one", "+1")
REFUSED: Final = {
    codex("*** Add File: a", "+x"): "FILE_EXISTS",
    codex("*** Add File: d", "+x"): "IS_A_DIRECTORY",
    codex("*** Add File: a/n", "+x"): "NOT_A_DIRECTORY",
    codex("*** Update File: n", *UPDATE): "FILE_NOT_FOUND",
    codex("*** Update File: b", *UPDATE): "EDIT_NOT_FOUND",
    codex("*** Update File: c", *UPDATE): "INVALID_ARGUMENT",
    codex("*** Delete File: n"): "FILE_NOT_FOUND",
    codex("*** Update File: a", "*** Move to: b", *UPDATE): "FILE_EXISTS",
    codex("*** Update File: a", *UPDATE, "*** Delete File: a"): "INVALID_ARGUMENT",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_patch_is_refused(text: str) -> None:
    with pytest.raises(FileToolsError) as refusal:
        patch(text)
    assert refusal.value.code == REFUSED[text]


def test_a_refusal_names_what_is_wrong_with_other_files() -> None:
    with pytest.raises(FileToolsError) as refusal:
        patch(codex("*** Update File: b", *UPDATE, "*** Update File: a", *UPDATE, "*** Delete File: n"))
    assert refusal.value.details["others"] == [{"path": "n"}]


def path(text: str) -> WorkspacePath:
    return WorkspacePath(text)


PATCHES: Final[dict[str, tuple[list[TreeOperation], list[str | None]]]] = {
    codex("*** Add File: p/n", "+x"): (
        [MakeFolder(path=path("p")), Put(path=path("p/n"), content=b"x\n")],
        [version_of(b"x\n")],
    ),
    codex("*** Update File: a", *UPDATE, "*** Delete File: b"): (
        [Put(path=path("a"), content=b"1\ntwo\n"), Remove(path=path("b"))],
        [version_of(b"1\ntwo\n"), None],
    ),
    codex("*** Update File: a", "*** Move to: p/n", *UPDATE): (
        [MakeFolder(path=path("p")), Move(path=path("a"), to=path("p/n")), Put(path=path("p/n"), content=b"1\ntwo\n")],
        [version_of(b"1\ntwo\n")],
    ),
    "diff --git a/c b/n\nsimilarity index 100%\nrename from c\nrename to n\n": (
        [Move(path=path("c"), to=path("n"))],
        [None],
    ),
    "diff --git a/c b/n\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from c\nrename to n\n": (
        [Move(path=path("c"), to=path("n")), Put(path=path("n"), content=b"\0", mode=0o755)],
        [version_of(b"\0")],
    ),
    "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n": (
        [Put(path=path("a"), content=b"one\ntwo\n", mode=0o755)],
        [version_of(b"one\ntwo\n")],
    ),
}


@pytest.mark.parametrize("text", PATCHES)
def test_a_patch_is_decided(text: str) -> None:
    operations, versions = PATCHES[text]
    decided = patch(text)
    assert isinstance(decided.answer, PatchAnswer)
    assert decided.operations == operations
    assert [file.version for file in decided.answer.files] == versions


def test_a_batch_fails_as_a_whole() -> None:
    with pytest.raises(BatchFailedError) as refusal:
        decide_together(SEEN, decisions=[_written("n"), _deleted("m")])
    assert (refusal.value.path, refusal.value.details["cause"]) == ("m", "FILE_NOT_FOUND")


def test_a_batch_makes_a_folder_once() -> None:
    decided = decide_together(SEEN, decisions=[_written("p/n"), _deleted("a"), _written("p/m")])
    assert decided.operations == [
        MakeFolder(path=path("p")),
        Put(path=path("p/m"), content=b"x"),
        Put(path=path("p/n"), content=b"x"),
        Remove(path=path("a")),
    ]
    assert isinstance(decided.answer, tuple)
    assert [type(each) for each in decided.answer] == [WriteAnswer, DeleteAnswer, WriteAnswer]


@pytest.mark.parametrize("paths", [("a", "b", "a"), ("a/n", "a"), tuple(f"f{number}" for number in range(1001))])
def test_a_batch_over_one_file_twice_or_too_many_is_refused(paths: tuple[str, ...]) -> None:
    with pytest.raises(InvalidArgumentError):
        refuse_repeats([path(each) for each in paths])


def _written(where: str) -> partial[Decided]:
    return partial(decide_write, path=path(where), new=NewText(content="x"), knowledge=NOBODY, settings=SETTINGS)


def _deleted(where: str) -> partial[Decided]:
    return partial(decide_delete, path=path(where), knowledge=NOBODY, settings=SETTINGS)
