"""Decisions over several files."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from filetools.changes.knowledge import Knowledge
from filetools.changes.patching import PatchAnswer, PatchTarget, decide_patch, decide_together, refuse_repeats
from filetools.changes.tree_decisions import DeleteAnswer, decide_delete
from filetools.changes.writing import NewText, WriteAnswer, decide_write
from filetools.content.patches import parse_patch
from filetools.content.version import version_of
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Decided, TreeOperation
from tests.changes.trees import make, move, put, refusal_of, remove, seen_of, tree_of

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
    codex("*** Update File: d", "*** Move to: n"): "IS_A_DIRECTORY",
    codex("*** Update File: a", "*** Move to: b", *UPDATE): "FILE_EXISTS",
    codex("*** Update File: a", *UPDATE, "*** Delete File: a"): "INVALID_ARGUMENT",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_patch_is_refused(text: str) -> None:
    assert refusal_of(lambda: patch(text)).code == REFUSED[text]


def test_a_refusal_names_what_is_wrong_with_other_files() -> None:
    text = codex("*** Update File: b", *UPDATE, "*** Update File: a", *UPDATE, "*** Delete File: n")
    assert refusal_of(lambda: patch(text)).details["others"] == [{"path": "n"}]


RENAME: Final = "similarity index 100%\nrename from c\nrename to n\n"
MODE: Final = "old mode 100644\nnew mode 100755\n"
NEW: Final = b"1\ntwo\n"
PATCHES: Final[dict[str, tuple[list[TreeOperation], list[bytes | None]]]] = {
    codex("*** Add File: p/n", "+x"): ([make("p"), put("p/n", b"x\n")], [b"x\n"]),
    codex("*** Update File: a", *UPDATE, "*** Delete File: b"): ([put("a", NEW), remove("b")], [NEW, None]),
    codex("*** Update File: a", "*** Move to: p/n", *UPDATE): (
        [make("p"), move("a", "p/n"), put("p/n", NEW)], [NEW],
    ),
    f"diff --git a/c b/n\n{RENAME}": ([move("c", "n")], [None]),
    f"diff --git a/c b/n\n{MODE}{RENAME}": ([move("c", "n"), put("n", b"\0", 0o755)], [b"\0"]),
    f"diff --git a/a b/a\n{MODE}": ([put("a", b"one\ntwo\n", 0o755)], [b"one\ntwo\n"]),
}  # fmt: skip


@pytest.mark.parametrize("text", PATCHES)
def test_a_patch_is_decided(text: str) -> None:
    operations, contents = PATCHES[text]
    decided = patch(text)
    assert isinstance(decided.answer, PatchAnswer)
    assert decided.operations == operations
    assert [file.version for file in decided.answer.files] == [each and version_of(each) for each in contents]


def test_a_batch_fails_as_a_whole() -> None:
    refusal = refusal_of(lambda: decide_together(SEEN, decisions=[_written("n"), _deleted("m")]))
    assert (refusal.code, refusal.path, refusal.details["cause"]) == ("BATCH_FAILED", "m", "FILE_NOT_FOUND")


def test_a_batch_makes_a_folder_once() -> None:
    decided = decide_together(SEEN, decisions=[_written("p/n"), _deleted("a"), _written("p/m")])
    assert decided.operations == [make("p"), put("p/m", b"x"), put("p/n", b"x"), remove("a")]
    assert isinstance(decided.answer, tuple)
    assert [type(each) for each in decided.answer] == [WriteAnswer, DeleteAnswer, WriteAnswer]


@pytest.mark.parametrize("paths", [("a", "b", "a"), ("a/n", "a"), tuple(f"f{number}" for number in range(1001))])
def test_a_batch_over_one_file_twice_or_too_many_is_refused(paths: tuple[str, ...]) -> None:
    assert refusal_of(lambda: refuse_repeats([WorkspacePath(each) for each in paths])).code == "INVALID_ARGUMENT"


def _written(where: str) -> partial[Decided]:
    return partial(
        decide_write, path=WorkspacePath(where), new=NewText(content="x"), knowledge=NOBODY, settings=SETTINGS
    )


def _deleted(where: str) -> partial[Decided]:
    return partial(decide_delete, path=WorkspacePath(where), knowledge=NOBODY, settings=SETTINGS)
