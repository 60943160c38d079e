"""Whatever the opening refuses, an examination knows; a repair gets the root open again and says what is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import filetools
from filetools.app.doctor import examine, repair
from filetools.app.state import prepare_state
from filetools.app.trust import own_folder
from filetools.journal.journal import Journal
from filetools.journal.storage.schema import SCHEMA_VERSION
from tests.support.crashing import QUIET
from tests.support.journals import put
from tests.support.opened import refused

Harm = Callable[[Path], object]


def filled(root: Path) -> Path:
    """Leave a journal as a killed process leaves it: most of it in the write-ahead file."""
    (root / "a.txt").write_text("A\n")
    state = prepare_state(root, None).directory
    journal = Journal(state)
    for index in range(40):
        put(journal, f"f{index % 8}", os.urandom(1000))
    killed = root.parent / "killed"
    shutil.copytree(state, killed)
    # The copy has other inodes; what is to be harmed must be the very database that was left.
    (killed / "journal.db-shm").unlink()
    wal = (killed / "journal.db-wal").read_bytes()
    journal.close()
    (state / "journal.db-wal").write_bytes(wal)
    shutil.copyfile(killed / "journal.db", state / "journal.db")
    return state


def another_page_size(state: Path) -> None:
    for part in state.glob("journal.db*"):
        part.unlink()
    with closing(sqlite3.connect(state / "fresh")) as database:
        database.execute("PRAGMA page_size = 8192")
        for table in ("meta", "records", "tree", "contents", "mirrors"):
            database.execute(f"CREATE TABLE {table} (name, value)")
        database.execute("CREATE TABLE numbered (number INTEGER PRIMARY KEY AUTOINCREMENT)")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        database.commit()
    (state / "fresh").rename(state / "journal.db")


def instead(name: str, make: Callable[[Path], None]) -> Harm:
    def harm(state: Path) -> None:
        place = state / name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        make(place)

    return harm


HARMS: dict[str, Harm] = {
    "no database": lambda state: (state / "journal.db").unlink(),
    "an empty database": lambda state: (state / "journal.db").write_bytes(b""),
    "nonsense for a database": lambda state: (state / "journal.db").write_bytes(b"nonsense" * 1024),
    "another page size": another_page_size,
    "a file for blobs": instead("blobs", Path.touch),
    "a folder for gate": instead("gate", Path.mkdir),
    "a link for turn": instead("turn", lambda place: place.symlink_to("a")),
    "nonsense for permissions": lambda state: (
        (own_folder(state) or state).joinpath("permissions.json").write_text("nonsense")
    ),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
async def test_every_refusal_of_the_opening_is_known_and_has_a_way_out(tmp_path: Path, harm: Harm) -> None:
    root = tmp_path / "root"
    root.mkdir()
    state = filled(root)
    assert examine(root).problem is None
    harm(state)
    await refused("STATE_DAMAGED", filetools.open(root, settings=QUIET).__aenter__())
    problem = examine(root).problem
    assert problem is not None
    assert problem.code == "STATE_DAMAGED"
    mended = repair(root)
    assert mended is not None
    assert (state / mended.aside).is_dir()
    assert mended.rescue is not None or mended.misplaced
    assert (examine(root).problem, repair(root)) == (None, None)
    async with filetools.open(root, settings=QUIET) as files:
        assert (await files.read_file("a.txt")).content == "A\n"
        await files.write_file("b.txt", "b")


@pytest.mark.parametrize("plant", [Path.touch, lambda place: place.symlink_to("elsewhere"), os.mkfifo])
async def test_what_stands_in_the_place_of_the_state_is_told_and_never_touched(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    plant(tmp_path / ".filetools")
    (tmp_path / "elsewhere").mkdir()
    error = await refused("STATE_DAMAGED", filetools.open(tmp_path).__aenter__())
    problem = examine(tmp_path).problem
    assert problem is not None
    assert problem.suggested_action == error.suggested_action
    assert "out of the way" in (error.suggested_action or "")
    with pytest.raises(filetools.FileToolsError, match="is at the path of"):
        repair(tmp_path)
    assert os.listdir(tmp_path / "elsewhere") == []


async def test_an_unreadable_binding_to_a_state_elsewhere_is_made_anew(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    async with filetools.open(root, state_dir=state, settings=QUIET) as files:
        await files.write_file("a.txt", "A")
    for side in (state, root / ".filetools"):
        (side / "id").write_text("nonsense")
    await refused("STATE_DAMAGED", filetools.open(root, state_dir=state, settings=QUIET).__aenter__())
    mended = repair(root, state)
    assert mended is not None
    assert mended.misplaced == ("id",)
    async with filetools.open(root, state_dir=state, settings=QUIET) as files:
        assert [entry.operation for entry in (await files.versions("a.txt")).versions] == ["create"]
