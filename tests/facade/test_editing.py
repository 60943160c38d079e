"""Edits, inserted lines and patches through the facade: refused with a hint, or exactly the given spans changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

import pytest

import filetools
from filetools import Edit
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET, count_calls, die_at, grow, snapshot
from tests.support.facade_worker import RELAXED
from tests.support.faulty import Plan
from tests.support.opened import refused


async def test_one_wrong_edit_of_several_changes_nothing(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    edits = [Edit(old="one", new="1"), Edit(old="three", new="3")]
    await refused("EDIT_NOT_FOUND", files.edit_file("a.txt", edits))
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


async def test_only_the_touched_span_changes(files: FileToolsFacade, tmp_path: Path) -> None:
    original = b"caf\xe9 one\r\ntwo\nthree\r\nlast"
    (tmp_path / "a.txt").write_bytes(original)
    (tmp_path / "a.txt").chmod(0o750)
    result = await files.edit_file("a.txt", [Edit(old="two\nthree", new="2\n3")])
    assert (tmp_path / "a.txt").read_bytes() == b"caf\xe9 one\r\n2\n3\r\nlast"
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o750
    assert result.counts == [1]
    assert [hunk["oldStart"] for hunk in result.structured_patch] == [1]
    assert result.version == (await files.read_file("a.txt")).version


async def test_a_dry_run_reports_the_same_and_writes_nothing(files: FileToolsFacade, tmp_path: Path) -> None:
    await files.write_file("a.txt", "one\n")
    edits = [Edit(old="one", new="1")]
    planned = await files.edit_file("a.txt", edits, dry_run=True)
    assert (planned.dry_run, planned.number, (tmp_path / "a.txt").read_text()) == (True, None, "one\n")
    await refused("VERSION_MISMATCH", files.edit_file("a.txt", edits, expected_version="0" * 12, dry_run=True))
    done = await files.edit_file("a.txt", edits)
    assert (done.structured_patch, done.version) == (planned.structured_patch, planned.version)


PATCH = """*** Begin Patch
*** Add File: new/b.txt
+hello
*** Update File: a.txt
@@
 one
-two
+2
 three
*** Delete File: gone.txt
*** End Patch
"""


async def test_a_patch_changes_all_its_files_in_one_transaction(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "gone.txt").write_text("gone\n")
    planned = await files.apply_patch(PATCH, dry_run=True)
    assert planned.dry_run
    assert snapshot(tmp_path) == {"a.txt": b"one\ntwo\nthree\n", "gone.txt": b"gone\n"}
    result = await files.apply_patch(PATCH)
    assert snapshot(tmp_path) == {"a.txt": b"one\n2\nthree\n", "new": None, "new/b.txt": b"hello\n"}
    assert [(one.path, one.kind) for one in result.files] == [
        ("new/b.txt", "add"),
        ("a.txt", "update"),
        ("gone.txt", "delete"),
    ]
    assert [one.version for one in result.files] == [one.version for one in planned.files]
    records = [record for record in (await files.changes()).records if record.actor == files.actor]
    assert len({record.transaction for record in records}) == 1


@pytest.mark.parametrize(
    ("setup", "code"),
    [
        ({"a.txt": "one\nother\nthree\n", "gone.txt": "gone\n"}, "EDIT_NOT_FOUND"),
        ({"a.txt": "one\ntwo\nthree\n"}, "FILE_NOT_FOUND"),
        ({"a.txt": "one\ntwo\nthree\n", "gone.txt": "gone\n", "new/b.txt": "there\n"}, "FILE_EXISTS"),
    ],
)
async def test_a_patch_that_does_not_fit_changes_nothing(
    files: FileToolsFacade, tmp_path: Path, setup: dict[str, str], code: str
) -> None:
    for path, content in setup.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    before = snapshot(tmp_path)
    await refused(code, files.apply_patch(PATCH, dry_run=True))
    await refused(code, files.apply_patch(PATCH))
    assert snapshot(tmp_path) == before


async def test_a_patch_outside_the_root_is_refused(files: FileToolsFacade) -> None:
    patch = "*** Begin Patch\n*** Add File: ../x\n+1\n*** End Patch\n"
    await refused("PATH_TRAVERSAL", files.apply_patch(patch))


async def test_a_unified_diff_moves_and_changes_a_file(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "a.txt").chmod(0o700)
    patch = (
        "diff --git a/a.txt b/sub/b.txt\nsimilarity index 50%\nrename from a.txt\nrename to sub/b.txt\n"
        "--- a/a.txt\n+++ b/sub/b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    )
    await files.apply_patch(patch)
    assert snapshot(tmp_path) == {"sub": None, "sub/b.txt": b"one\n2\n"}
    assert (tmp_path / "sub/b.txt").stat().st_mode & 0o777 == 0o700


async def test_the_difference_of_two_versions_is_shown(files: FileToolsFacade) -> None:
    await refused("INVALID_ARGUMENT", files.diff("a.txt"))
    first = await files.write_file("a.txt", "one\n")
    second = await files.write_file("a.txt", "two\n")
    shown = await files.diff("a.txt")
    assert shown.diff == "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    assert (await files.diff("a.txt", second.version, first.version)).old_version == second.version


async def test_a_patch_that_deletes_is_blocked_where_deletions_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "gone.txt").write_text("gone\n")
    async with filetools.open(tmp_path, permissions="guarded", settings=RELAXED) as files:
        files.answer_approvals(always_allow)
        await refused("TOOL_BLOCKED", files.apply_patch(PATCH))
        assert (tmp_path / "gone.txt").exists()


async def always_allow(_request: filetools.ApprovalRequest) -> filetools.ApprovalAnswer:
    return "allow"


MODE_PATCH = "diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n"


async def test_a_patch_of_the_mode_alone_is_a_change(files: FileToolsFacade, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "a.txt").chmod(0o644)
    result = await files.apply_patch(MODE_PATCH)
    assert (tmp_path / "a.txt").stat().st_mode & 0o7777 == 0o755
    newest = (await files.latest_changes(1))[0]
    assert (newest.number, newest.mode, newest.before == newest.after) == (result.number, 0o755, True)
    again = await files.apply_patch(MODE_PATCH)
    assert (again.number, (await files.latest_changes(1))[0]) == (None, newest)


def test_a_death_in_a_change_of_the_mode_is_finished_at_opening(tmp_path: Path) -> None:
    def patch(files: FileToolsFacade) -> Awaitable[object]:
        return files.apply_patch(MODE_PATCH)

    root = tmp_path / "counted"
    grow(root, {"a.txt": b"one\n"})
    calls = count_calls(root, patch).calls
    for call in calls:
        root = tmp_path / str(call.number)
        grow(root, {"a.txt": b"one\n"})
        (root / "a.txt").chmod(0o644)
        die_at(root, patch, Plan.die(call.number, exits=True))
        asyncio.run(assert_head_is_the_disk(root))


async def assert_head_is_the_disk(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        records = [record for record in (await files.changes()).records if record.operation.value == "modify"]
    assert (root / "a.txt").stat().st_mode & 0o777 == (records[-1].mode if records else 0o644)
    assert (root / "a.txt").read_bytes() == b"one\n"


@pytest.mark.parametrize("content", [b"one\n", b"\x00\x01"])
async def test_a_patch_that_renames_may_change_the_mode(files: FileToolsFacade, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "a").chmod(0o644)
    patch = "diff --git a/a b/b\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from a\nrename to b\n"
    planned = await files.apply_patch(patch, dry_run=True)
    done = await files.apply_patch(patch)
    assert [one.version for one in planned.files] == [one.version for one in done.files]
    assert snapshot(tmp_path) == {"b": content}
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o755
