"""The decision at the end of a transaction."""

from __future__ import annotations

from typing import Final

import pytest

from filetools.changes.transactions import HeldOperations, TransactionAnswer, decide_commit
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.writer.operations import Decided, SeenPath, TreeOperation
from tests.changes.trees import make, move, put, refusal_of, remove, remove_folder, seen_of, tree_of

Files = dict[str, bytes | None]
BEFORE: Final[Files] = {"a": b"one\ntwo\nthree\n", "b": b"B", "d": None, "d/x": b"X"}


def commit(now: Files, *operations: TreeOperation, strict: tuple[str, ...] = ()) -> Decided:
    """Decide operations that were made on `BEFORE`, on a tree in which others have changed what `now` says."""
    held = HeldOperations(operations=operations, before=seen_of(tree_of(BEFORE)).paths, strict=strict)
    kept = [content for content in BEFORE.values() if content is not None]
    return decide_commit(seen_of(tree_of(BEFORE | now), kept=kept), held=held, settings=Settings())


REFUSED: Final[dict[str, tuple[str, Files, list[TreeOperation]]]] = {
    "an overlap": ("EDIT_CONFLICT", {"a": b"one\n2\nthree\n"}, [put("a", b"one\nII\nthree\n")]),
    "binary by now": ("EDIT_CONFLICT", {"a": b"\x89PNG\r\n\x1a\n\0"}, [put("a", b"one\nII\nthree\n")]),
    "deleted and changed": ("VERSION_MISMATCH", {"b": b"new"}, [remove("b")]),
    "moved and changed": ("VERSION_MISMATCH", {"b": b"new"}, [move("b", "n")]),
    "changed in a moved folder": ("VERSION_MISMATCH", {"d/x": b"new"}, [move("d", "n")]),
    "new in a moved folder": ("VERSION_MISMATCH", {"d/n": b"new"}, [move("d", "n")]),
    "new in a deleted folder": ("VERSION_MISMATCH", {"d/n": b"new"}, [remove_folder("d")]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_commit_is_refused(case: str) -> None:
    code, now, operations = REFUSED[case]
    assert refusal_of(lambda: commit(now, *operations)).code == code


def test_what_the_caller_named_the_version_of_is_not_merged() -> None:
    theirs: Files = {"a": b"ONE\ntwo\nthree\n"}
    refusal = refusal_of(lambda: commit(theirs, put("a", b"one\ntwo\nTHREE\n"), strict=("a",)))
    assert refusal.code == "VERSION_MISMATCH"


def test_a_file_that_others_made_meanwhile_is_not_replaced() -> None:
    held = HeldOperations(operations=[put("n", b"mine")], before={"n": SeenPath(path=WorkspacePath("n"))})
    seen = seen_of(tree_of({"n": b"theirs"}))
    assert refusal_of(lambda: decide_commit(seen, held=held, settings=Settings())).code == "FILE_EXISTS"


def test_a_text_is_merged_with_what_others_have_written() -> None:
    merged = b"ONE\ntwo\nTHREE\n"
    assert commit({"a": b"ONE\ntwo\nthree\n"}, put("a", b"one\ntwo\nTHREE\n"), remove("b")) == Decided(
        operations=[put("a", merged), remove("b")], answer=TransactionAnswer(merged={"a": merged})
    )


def test_what_others_changed_elsewhere_does_not_matter() -> None:
    assert commit({"b": b"new", "n": None}, make("n"), put("n/x", b"x")).operations == [put("n/x", b"x")]


def test_what_others_have_done_too_is_not_done_again() -> None:
    assert commit({"a": b"mine"}, put("a", b"mine")) == Decided(operations=[], answer=TransactionAnswer(merged={}))
