"""Opening, using and closing a root whose directories, journal or mirror are damaged or missing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import pytest

import filetools
from filetools.errors import BatchFailedError, InvalidArgumentError, StateDamagedError, WorkspaceGoneError
from filetools.facade.facade import FileToolsFacade
from filetools.journal.storage.schema import SCHEMA_VERSION
from filetools.stores.mirror import DirectoryMirror
from tests.support.crashing import QUIET, die_at, grow, leftovers, snapshot
from tests.support.faulty import EXIT_CODE, Plan
from tests.support.mirror_worlds import caught_up
from tests.support.opened import ScriptedOpening, outcome_of, recorded, refused, steps_until, told

T = TypeVar("T")
Call = Callable[[FileToolsFacade], Awaitable[object]]
CALLS: dict[str, Call] = {
    "read": lambda files: files.read_file("a.txt"),
    "read a part": lambda files: files.read_file("a.txt", offset=1, limit=1),
    "write": lambda files: files.write_file("a.txt", "new"),
    "append": lambda files: files.append_file("a.txt", "more"),
    "create": lambda files: files.create_file("new.txt"),
    "copy": lambda files: files.copy_file("a.txt", "b.txt"),
    "delete": lambda files: files.delete_file("a.txt"),
    "move": lambda files: files.move_file("a.txt", "b.txt"),
    "make folder": lambda files: files.create_directory("n"),
    "delete folder": lambda files: files.delete_directory("d"),
    "list": lambda files: files.list_files(),
    "info": lambda files: files.file_info("a.txt"),
    "exists": lambda files: files.exists("a.txt"),
    "versions": lambda files: files.versions("a.txt"),
    "changes": lambda files: files.changes(),
    "latest": lambda files: files.latest_changes(),
    "several": lambda files: files.write_multiple([{"path": "a.txt", "content": "x"}]),
    "status": lambda files: files.status(),
    "is locked": lambda files: files.is_locked("a.txt"),
    "lock info": lambda files: files.lock_info("a.txt"),
    "synchronise": lambda files: files.sync_all(),
}


async def code_of_opening(root: Path, **options: Any) -> str:
    """Return "opened" or the code of the error."""
    try:
        async with filetools.open(root, **{"settings": QUIET, **options}):
            return "opened"
    except filetools.FileToolsError as exc:
        return "a path outside" if str(root.parent) in exc.message else exc.code


INSIDE_EACH_OTHER = [
    ("root", None), ("root/state", None), (".", None), ("mirror", "mirror"), ("mirror/state", "mirror"),
    ("state", "state/mirror"), (None, "root"), (None, "root/.filetools"), (None, "."),
]  # fmt: skip


@pytest.mark.parametrize(("state", "mirror"), INSIDE_EACH_OTHER)
def test_directories_inside_each_other_are_refused(tmp_path: Path, state: str | None, mirror: str | None) -> None:
    (tmp_path / "root").mkdir()
    given: dict[str, Any] = {
        name: tmp_path / path for name, path in (("state_dir", state), ("mirror", mirror)) if path is not None
    }
    with pytest.raises(filetools.FileToolsError) as caught:
        filetools.open(tmp_path / "root", **given)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert snapshot(tmp_path) == {"root": None}


@pytest.mark.parametrize("mirror", [["a", "b"], ("a",), {"a": 1}, 7, object(), "", b"mirror", "a\0b", asyncio])
def test_a_mirror_that_is_neither_a_path_nor_a_store_is_refused_at_once(tmp_path: Path, mirror: Any) -> None:
    with pytest.raises(filetools.FileToolsError) as caught:
        filetools.open(tmp_path, mirror=mirror)
    assert caught.value.code == "INVALID_ARGUMENT"


def test_a_state_directory_behind_a_link_into_the_root_is_refused(tmp_path: Path) -> None:
    grow(tmp_path, {"root/state": None})
    (tmp_path / "link").symlink_to(tmp_path / "root/state")
    with pytest.raises(filetools.FileToolsError) as caught:
        filetools.open(tmp_path / "root", state_dir=tmp_path / "link")
    assert caught.value.code == "INVALID_ARGUMENT"


async def test_a_root_keeps_the_state_directory_it_began_with(tmp_path: Path) -> None:
    for name in ("inner", "outer"):
        (tmp_path / name).mkdir()
    assert await code_of_opening(tmp_path / "inner", state_dir=tmp_path / "inner/.filetools") == "opened"
    assert await code_of_opening(tmp_path / "outer", state_dir=tmp_path / "state") == "opened"
    assert await code_of_opening(tmp_path / "inner", state_dir=tmp_path / "new") == "STATE_ELSEWHERE"
    assert await code_of_opening(tmp_path / "outer") == "STATE_ELSEWHERE"
    assert await code_of_opening(tmp_path / "outer", state_dir=tmp_path / "new") == "STATE_ELSEWHERE"
    assert await code_of_opening(tmp_path / "outer", state_dir=tmp_path / "state") == "opened"
    assert await code_of_opening(tmp_path / "inner") == "opened"


async def test_state_elsewhere_works_as_in_the_root(tmp_path: Path) -> None:
    grow(tmp_path, {"root/a.txt": b"old"})
    async with filetools.open(tmp_path / "root", state_dir=tmp_path / "state", settings=QUIET) as files:
        await files.write_file("a.txt", "new")
        await files.move_file("a.txt", "x/b.txt")
        await files.delete_directory("x", recursive=True)
        assert await recorded(files) == [
            ("modify", "a.txt", "agent"),
            ("create_directory", "x", "agent"),
            ("move", "x/b.txt", "agent"),
            ("delete_directory", "x", "agent"),
        ]
    assert snapshot(tmp_path / "root") == {}
    assert not (tmp_path / "root/.filetools/state/journal.db").exists()
    assert (tmp_path / "state/journal.db").exists()


async def test_a_death_between_the_two_ids_does_not_lock_the_root_out(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    state = tmp_path / "state"
    assert await code_of_opening(tmp_path / "root", state_dir=state) == "opened"
    (tmp_path / "root/.filetools/state/id").unlink()
    assert await code_of_opening(tmp_path / "root", state_dir=state) == "opened"
    assert await code_of_opening(tmp_path / "root", state_dir=state) == "opened"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"short", b"g" * 32])
async def test_an_unreadable_id_is_damage_and_not_another_root(tmp_path: Path, content: bytes) -> None:
    grow(tmp_path, {"root": None})
    assert await code_of_opening(tmp_path / "root", state_dir=tmp_path / "state") == "opened"
    (tmp_path / "root/.filetools/state/id").write_bytes(content)
    assert await code_of_opening(tmp_path / "root", state_dir=tmp_path / "state") == "STATE_DAMAGED"


@pytest.mark.parametrize("kind", ["missing", "file", "fifo", "dangling"])
async def test_a_root_that_is_not_a_directory_is_refused(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    if kind == "file":
        root.write_text("")
    elif kind == "fifo":
        os.mkfifo(root)
    elif kind == "dangling":
        root.symlink_to("nowhere")
    error = await refused("WORKSPACE_GONE", filetools.open(root).__aenter__())
    assert error.message == "The root does not exist or is not a folder: 'root'"
    assert error.suggested_action == "Make the folder first, or name another."


@pytest.mark.parametrize("given", [{"root": ""}, {"root": ".", "mirror": ""}, {"root": ".", "state_dir": ""}])
def test_an_empty_text_is_not_the_working_folder(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="is empty"):
        filetools.open(**given)


@pytest.mark.parametrize("kind", ["file", "link", "fifo"])
async def test_anything_but_a_directory_at_the_state_path_is_refused(tmp_path: Path, kind: str) -> None:
    state, outside = tmp_path / "root/.filetools", tmp_path / "outside"
    grow(tmp_path, {"root": None, "outside": None})
    if kind == "file":
        state.write_text("")
    elif kind == "link":
        state.symlink_to(outside)
    else:
        os.mkfifo(state)
    assert await code_of_opening(tmp_path / "root") == "STATE_DAMAGED"
    assert snapshot(outside) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("no_such_setting", 1),
        ("worker_threads", "many"),
        ("worker_threads", -1),
        ("worker_threads", 0),
        ("lock_timeout_seconds", "x"),
        ("durability", "maybe"),
        ("hard_links", "keep"),
    ],
)
async def test_settings_that_make_no_sense_are_refused(tmp_path: Path, name: str, value: object) -> None:
    assert await code_of_opening(tmp_path, settings={name: value}) == "INVALID_ARGUMENT"


async def test_a_user_settings_file_that_is_not_toml_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILETOOLS_CONFIG_DIR", str(tmp_path / "user"))
    grow(tmp_path, {"user/settings.toml": b"= nonsense"})
    assert await code_of_opening(tmp_path) == "INVALID_ARGUMENT"


@pytest.mark.parametrize("schema", [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
async def test_a_state_of_another_schema_is_refused_and_left_alone(tmp_path: Path, schema: int) -> None:
    grow(tmp_path, {"a.txt": b"text"})
    assert await code_of_opening(tmp_path) == "opened"
    place = tmp_path / ".filetools/state/journal.db"
    with contextlib.closing(sqlite3.connect(place)) as database:
        database.execute(f"PRAGMA user_version = {schema}")
    before = place.read_bytes()
    with pytest.raises(filetools.errors.StateVersionError, match=f"has schema {schema}; ") as caught:
        await filetools.open(tmp_path, settings=QUIET).__aenter__()
    assert caught.value.details == {"found": schema, "known": SCHEMA_VERSION}
    assert "move the state directory (.filetools) away" in (caught.value.suggested_action or "")
    assert place.read_bytes() == before
    (tmp_path / ".filetools").rename(tmp_path.with_name(f"{tmp_path.name} aside"))
    assert await code_of_opening(tmp_path) == "opened"
    assert snapshot(tmp_path) == {"a.txt": b"text"}


def remove_state(root: Path) -> None:
    shutil.rmtree(root / ".filetools")


def remove_database(root: Path) -> None:
    for place in (root / ".filetools/state").glob("journal.db*"):
        place.unlink()


def replace_database(root: Path) -> None:
    copy = root / ".filetools/copy"
    shutil.copyfile(root / ".filetools/state/journal.db", copy)
    copy.replace(root / ".filetools/state/journal.db")


@pytest.mark.parametrize(
    ("damage", "then"), [(remove_state, "opened"), (remove_database, "STATE_DAMAGED"), (replace_database, "opened")]
)
async def test_nothing_is_acknowledged_without_the_journal_that_was_opened(
    tmp_path: Path, damage: Callable[[Path], None], then: str
) -> None:
    grow(tmp_path, {"a.txt": b"old", "d": None})
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("kept.txt", "kept")
        damage(tmp_path)
        for name in ("write", "append", "create", "copy", "delete", "move", "make folder", "delete folder", "several"):
            code = await outcome_of(CALLS[name](files))
            assert code in ("STATE_DAMAGED", "BATCH_FAILED"), name
        assert (await files.read_file("a.txt")).content == "old"
    assert snapshot(tmp_path) == {"a.txt": b"old", "d": None, "kept.txt": b"kept"}
    assert await code_of_opening(tmp_path) == then


async def test_a_deleted_root_is_reported_as_gone(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grow(root, {"a.txt": b"old", "d": None})
    async with filetools.open(root, settings=QUIET) as files:
        shutil.rmtree(root)
        for name, call in CALLS.items():
            # What can still be read from the journal's open files is reported.
            if name not in ("status", "changes", "latest", "versions", "is locked", "lock info", "synchronise"):
                assert await outcome_of(call(files)) in ("WORKSPACE_GONE", "BATCH_FAILED"), name
    assert not root.exists()


@pytest.mark.parametrize("stands", [False, True])
async def test_a_moved_root_is_gone_and_not_damaged_whatever_replaces_it(tmp_path: Path, stands: bool) -> None:
    root = tmp_path / "root"
    grow(root, {"a.txt": b"old", "d": None})
    async with filetools.open(root, settings=QUIET) as files:
        root.rename(tmp_path / "moved")
        if stands:
            root.mkdir()
        for name in ("write", "delete", "make folder", "several"):
            assert await outcome_of(CALLS[name](files)) in ("WORKSPACE_GONE", "BATCH_FAILED"), name
    assert (tmp_path / "moved/a.txt").read_bytes() == b"old"
    assert [*root.parent.glob("root/*")] == []


async def test_a_replaced_root_is_never_served_in_its_place(tmp_path: Path) -> None:
    root = tmp_path / "root"
    grow(root, {"a.txt": b"old", "d": None})
    async with filetools.open(root, settings=QUIET) as files:
        root.rename(tmp_path / "moved")
        grow(root, {"a.txt": b"impostor", "d": None})
        for name in CALLS.keys() - {"status", "synchronise"}:
            shown = ""
            with contextlib.suppress(WorkspaceGoneError, StateDamagedError, BatchFailedError):
                shown = str(await CALLS[name](files))
            assert "impostor" not in shown, name
    assert snapshot(root) == {"a.txt": b"impostor", "d": None}


async def test_a_write_follows_the_journal_where_another_process_may_have_moved_on(tmp_path: Path) -> None:
    async with (
        filetools.open(tmp_path, settings=QUIET) as here,
        filetools.open(tmp_path, settings=QUIET) as there,
    ):
        await here.write_file("a.txt", "one")
        before = await here.read_file("a.txt")
        await there.write_file("a.txt", "two")
        with pytest.raises(filetools.FileToolsError) as refused:
            await here.write_file("a.txt", "three", expected_version=before.version)
        assert refused.value.code == "VERSION_MISMATCH"
        assert (await here.write_file("a.txt", "two")).version == (await there.read_file("a.txt")).version
        await there.delete_file("a.txt")
        newcomer = here.for_actor(filetools.Actor(kind="agent", id="newcomer"))
        assert (await newcomer.write_file("a.txt", "four")).created
        ann = there.for_actor(filetools.Actor(kind="editor", id="ann"))
        opened = await ann.buffers.open("a.txt")
        await ann.buffers.change(opened.handle, buffer_version=1, text="typed")
        with pytest.raises(filetools.FileToolsError) as unsaved:
            await newcomer.write_file("a.txt", "five")
        assert unsaved.value.code == "EDIT_CONFLICT"


async def test_an_opening_is_entered_once(tmp_path: Path) -> None:
    opening = filetools.open(tmp_path, settings=QUIET)
    async with opening as files:
        await files.write_file("a.txt", "1")
        with pytest.raises(filetools.FileToolsError):
            await opening.__aenter__()
        await files.write_file("a.txt", "2")
    with pytest.raises(filetools.FileToolsError):
        await opening.__aenter__()


async def test_calls_on_a_closed_workspace_report_that(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        pass
    async with asyncio.timeout(60):
        for call in CALLS.values():
            error = await refused("WORKSPACE_GONE", call(files))
            assert error.message == "The workspace is gone: it was closed"


class Held:
    """Blocks a call of one store method until it is released; reports when it was reached."""

    def __init__(self, method: str) -> None:
        self._method = method
        self.reached = threading.Event()
        self.free = threading.Event()

    def __call__(self, method: str, path: str) -> None:
        if method == self._method:
            self.reached.set()
            assert self.free.wait(60)


@pytest.mark.parametrize(
    ("method", "name"), [("prepare", "write"), ("Prepared.exchange", "write"), ("remove", "delete")]
)
async def test_closing_finishes_and_publishes_a_change_that_has_begun(tmp_path: Path, method: str, name: str) -> None:
    grow(tmp_path, {"a.txt": b"old"})
    held = Held(method)
    opening = ScriptedOpening(tmp_path, before=held)
    files = await opening.__aenter__()
    heard = told(files, "file:*")
    call = asyncio.ensure_future(CALLS[name](files))
    waiting = asyncio.ensure_future(files.write_file("a.txt", "waits for the lock"))
    await steps_until(held.reached.is_set)
    closing = asyncio.create_task(opening.__aexit__(None, None, None))
    await refused("WORKSPACE_GONE", waiting)
    await refused("WORKSPACE_GONE", files.write_file("b.txt", "too late"))
    assert not closing.done()
    held.free.set()
    await closing
    await call
    assert [event.name for event in heard] == ["file:modified" if name == "write" else "file:deleted"]
    assert snapshot(tmp_path) == ({"a.txt": b"new"} if name == "write" else {})
    assert leftovers(tmp_path) == []
    async with filetools.open(tmp_path, settings=QUIET) as again:
        assert (await again.status())["pending"] == 0


async def test_closing_waits_for_reads_before_it_closes_what_they_use(tmp_path: Path) -> None:
    grow(tmp_path, {"a.txt": b"line\n" * 10})
    held = Held("open")
    opening = ScriptedOpening(tmp_path, before=held)
    files = await opening.__aenter__()
    call = asyncio.ensure_future(files.read_file("a.txt", offset=2, limit=1))
    await steps_until(held.reached.is_set)
    closing = asyncio.create_task(opening.__aexit__(None, None, None))
    await asyncio.sleep(0.05)
    assert not closing.done()
    held.free.set()
    assert (await call).content == "line\n"
    await closing


async def test_closing_while_a_call_waits_for_an_approval_ends_the_call(tmp_path: Path) -> None:
    opening = filetools.open(tmp_path, permissions="ask", settings=QUIET)
    files = await opening.__aenter__()
    asked = asyncio.Event()

    async def silent(_request: object) -> Any:
        asked.set()
        await asyncio.Event().wait()

    files.answer_approvals(silent)
    call = asyncio.ensure_future(outcome_of(files.write_file("a.txt", "x")))
    async with asyncio.timeout(60):
        await asked.wait()
        await opening.__aexit__(None, None, None)
        assert await call in ("APPROVAL_REQUIRED", "WORKSPACE_GONE")
    assert snapshot(tmp_path) == {}


DYING: Final = """
import asyncio, sys
from pathlib import Path
from tests.support.crashing import CrashingOpening
from tests.support.faulty import Plan

async def main(root, method):
    async with CrashingOpening(Path(root), Plan.die_before(method)) as files:
        await (files.move_file("d", "e") if method == "move" else files.delete_directory("d", recursive=True))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("method", ["move", "remove"])
async def test_a_write_below_a_folder_that_a_dead_process_was_moving_finishes_that_first(
    tmp_path: Path, method: str
) -> None:
    async with filetools.open(tmp_path, settings=QUIET) as files:
        await files.write_file("d/x.txt", "x")
        # Not forked from this process, whose threads have the workspace open.
        dying = await asyncio.create_subprocess_exec(sys.executable, "-c", DYING, tmp_path, method)
        assert await dying.wait() == EXIT_CODE
        await files.write_file("d/new.txt", "new")
        kept = {"e/x.txt": b"x"} if method == "move" else {}
        assert {path: text for path, text in snapshot(tmp_path).items() if text} == {"d/new.txt": b"new", **kept}


@pytest.mark.parametrize("instead", ["folder", "link", "fifo"])
async def test_a_pending_change_whose_place_was_taken_holds_nothing_up(tmp_path: Path, instead: str) -> None:
    """A process died between commit and exchange; before the root is opened again the path has something else."""
    root = tmp_path / "root"
    grow(root, {"a.txt": b"old"})
    assert not die_at(root, lambda files: files.write_file("a.txt", "new"), Plan.die_before("Prepared.exchange"))
    (root / "a.txt").unlink()
    if instead == "folder":
        (root / "a.txt").mkdir()
    elif instead == "link":
        (root / "a.txt").symlink_to("elsewhere")
    else:
        os.mkfifo(root / "a.txt")
    async with filetools.open(root, settings={**QUIET, "sync_after_seconds": 0.01}) as files:
        async with asyncio.timeout(60):
            while (await files.status())["pending"]:
                await asyncio.sleep(0.002)
        await files.write_file("b.txt", "goes on")
        assert ("create", "b.txt", "agent") in await recorded(files)
        assert (await files.versions("a.txt")).versions[0].kept


class TestMirrors:
    """The mirror is damaged or missing when the workspace is opened."""

    SETTINGS: ClassVar[dict[str, Any]] = {**QUIET, "mirror_probe_seconds": 0.02, "sync_after_seconds": 0.01}

    @pytest.mark.parametrize("kind", ["fifo", "file above"])
    async def test_a_mirror_path_that_is_not_a_directory_leaves_the_mirror_behind(
        self, tmp_path: Path, kind: str
    ) -> None:
        root, mirror = tmp_path / "root", tmp_path / "mirror"
        root.mkdir()
        if kind == "fifo":
            os.mkfifo(mirror)
        else:
            mirror.write_text("in the way")
            mirror = mirror / "below"
        async with filetools.open(root, mirror=mirror, settings=self.SETTINGS) as files:
            result = await files.write_file("a.txt", "1")
            assert result.mirror == "pending"
            assert [warning["code"] for warning in result.warnings] == ["SYNC_FAILED"]
            status = (await files.status())["mirrors"]["mirror"]
            assert (status["state"], status["behind"]) == ("not_ready", 1)
            assert str(tmp_path) not in status["last_error"]
            (tmp_path / "mirror").unlink()
            await caught_up(files)
            assert (await files.write_file("a.txt", "2")).mirror == "in_sync"
        assert snapshot(mirror) == {"a.txt": b"2"}

    async def test_strict_calls_are_refused_while_the_mirror_cannot_be_opened(self, tmp_path: Path) -> None:
        root, mirror = tmp_path / "root", tmp_path / "mirror"
        grow(root, {"a.txt": b"old"})
        mirror.write_text("in the way")
        async with filetools.open(root, mirror=mirror, mirror_policy="strict", settings=self.SETTINGS) as files:
            await refused("SYNC_FAILED", files.write_file("a.txt", "1"))
            assert snapshot(root) == {"a.txt": b"old"}
            mirror.unlink()
            async with asyncio.timeout(60):
                while await outcome_of(files.write_file("a.txt", "2")) != "done":
                    await asyncio.sleep(0.01)
        assert snapshot(mirror) == {"a.txt": b"2"}

    async def test_a_mirror_deleted_while_open_is_reopened(self, tmp_path: Path) -> None:
        root, mirror = tmp_path / "root", tmp_path / "mirror"
        root.mkdir()
        async with filetools.open(root, mirror=mirror, settings=self.SETTINGS) as files:
            await files.write_file("a.txt", "1")
            mirror.rename(tmp_path / "gone")  # the mirror may write into it at the same time
            shutil.rmtree(tmp_path / "gone", ignore_errors=True)
            await files.write_file("b.txt", "2")
            await steps_until((mirror / "b.txt").exists)
            assert (await files.sync_all(verify=True)).success
            assert snapshot(mirror) == {"a.txt": b"1", "b.txt": b"2"}

    async def test_a_hanging_mirror_holds_up_neither_opening_nor_closing(self, tmp_path: Path) -> None:
        """Its directory is behind a pipe without a writer: opening it blocks forever."""
        root = tmp_path / "root"
        root.mkdir()
        free = threading.Event()
        opening = filetools.open(root, mirror=tmp_path / "mirror", settings={**QUIET, "mirror_wait_seconds": 0.05})

        def never() -> Any:
            free.wait(60)
            raise filetools.FileToolsError("never")

        opening._mirror = DirectoryMirror(tmp_path / "mirror", never)
        async with asyncio.timeout(60):
            async with opening as files:
                assert (await files.write_file("a.txt", "1")).mirror == "pending"
                assert (await files.write_file("a.txt", "2")).mirror == "pending"
        free.set()
