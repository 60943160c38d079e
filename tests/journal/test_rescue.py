"""Repairing a damaged journal: the damaged files are kept, unsaved texts and contents survive, the rest starts anew."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from filetools.errors import StateDamagedError
from filetools.journal.journal import Journal
from filetools.journal.storage.contents import LARGEST_ROW_BYTES
from filetools.journal.storage.rescue import Rescue, examine_journal, folder_for_damage, start_again
from tests.journal.test_contract_documents import ANN, opened, typed
from tests.support.dose import dose
from tests.support.inside import heads_below
from tests.support.journals import damage, put, save, worker
from tests.support.journals import version as v

PAGE = 4096
BLOB = LARGEST_ROW_BYTES + 1


def filled(state: Path, commits: int = 20) -> dict[str, bytes]:
    """Create a journal with records, contents of three sizes, a mirror, and two documents; return the contents."""
    choose = random.Random(1)
    contents = [choose.randbytes(3000) for _ in range(commits)] + [os.urandom(LARGEST_ROW_BYTES), os.urandom(BLOB)]
    with closing(Journal(state, durability="relaxed")) as journal:
        for index, content in enumerate(contents):
            put(journal, f"f{index % 4}", content, mirrors=["m"])
        journal.contents.keep_all([(v(b"a snapshot " * 1000), b"a snapshot " * 1000)])
        journal.documents.advance(typed(opened(journal, "unsaved"), "typed for an hour\n"), ANN)
        opened(journal, "saved")
    return {v(content): content for content in (*contents, b"a snapshot " * 1000)}


def repaired(state: Path) -> Rescue:
    return start_again(state, folder_for_damage(state))


def aside(state: Path) -> Path:
    (folder,) = state.glob("damaged-*")
    return folder


@contextmanager
def fresh(state: Path) -> Iterator[Journal]:
    """Open the repaired journal, and check that it is usable."""
    with closing(Journal(state)) as journal:
        assert journal._database.row("PRAGMA integrity_check") == ("ok",)
        assert (journal.records(), dict(heads_below(journal, ""))) == ([], {})
        yield journal
        assert put(journal, "new", b"new").number == 1


def overwrite(state: Path, *pages: int) -> None:
    with (state / "journal.db").open("r+b") as file:
        for page in pages:
            file.seek(page * PAGE)
            file.write(os.urandom(PAGE))


def spoil_header(state: Path) -> None:
    overwrite(state, 0)


def empty(state: Path) -> None:
    os.truncate(state / "journal.db", 0)


def remove(state: Path) -> None:
    (state / "journal.db").unlink()


def spoil_records(state: Path) -> None:
    with closing(sqlite3.connect(state / "journal.db")) as database, database:
        database.execute("UPDATE records SET size = size + 1 WHERE number = 3")


def test_contents_texts_and_mirrors_survive_and_the_rest_starts_anew(state: Path) -> None:
    contents = filled(state)
    with closing(Journal(state)) as journal:
        epoch, mirror = journal.epoch, journal.mirrors.get("m")
        save(journal, "first", {}, number=1)
    spoil_records(state)
    damaged = (state / "journal.db").read_bytes()
    assert repaired(state) == Rescue(
        contents=len(contents), texts={"unsaved-1.txt": "unsaved"}, mirrors=("m",), records=22, checkpoints=1
    )
    assert (aside(state) / "unsaved-1.txt").read_text() == "typed for an hour\n"
    assert (aside(state) / "journal.db").read_bytes() == damaged
    with fresh(state) as journal:
        assert journal.epoch != epoch
        assert journal.mirrors.get("m") == mirror
        assert all(journal.contents.get(version) == content for version, content in contents.items())


@pytest.mark.parametrize("harm", [empty, remove, spoil_header])
def test_content_files_survive_an_unreadable_database(state: Path, harm: Callable[[Path], None]) -> None:
    contents = filled(state)
    harm(state)
    beside = [version for version, content in contents.items() if len(content) > LARGEST_ROW_BYTES]
    assert repaired(state) == Rescue(contents=len(beside))
    with fresh(state) as journal:
        assert [version for version in contents if journal.contents.has(version)] == beside


@pytest.mark.parametrize("seed", range(dose(3)))
def test_random_damage_loses_only_what_it_hit_and_yields_nothing_false(state: Path, seed: int) -> None:
    contents = filled(state, 100)
    whole = (state / "journal.db").read_bytes()
    pages = random.Random(seed).sample(range(1, len(whole) // PAGE), 2)
    overwrite(state, *pages)
    rescue = repaired(state)
    with fresh(state) as journal:
        kept = [version for version in contents if journal.contents.has(version)]
        assert all(journal.contents.get(version) == contents[version] for version in kept)
        assert len(kept) == rescue.contents
    texts = [(aside(state) / name).read_text() for name in rescue.texts]
    assert set(texts) <= {"typed for an hour\n", "one\n"}  # the dirty flag of the second may be lost
    is_schema_hit = any(b"CREATE " in whole[page * PAGE : (page + 1) * PAGE] for page in pages)
    if not is_schema_hit and b"typed for an hour\n" in (aside(state) / "journal.db").read_bytes():
        assert "typed for an hour\n" in texts


def test_contents_that_lost_their_hash_are_left_out(state: Path) -> None:
    contents = filled(state)
    blob = next(version for version, content in contents.items() if len(content) == BLOB)
    damage(state / "blobs" / blob.removeprefix("sha256:"), 2000)
    with closing(sqlite3.connect(state / "journal.db")) as database, database:
        database.execute("UPDATE contents SET bytes = zeroblob(3000) WHERE rowid = 1")
    assert repaired(state).contents == len(contents) - 2
    with fresh(state) as journal:
        assert sum(not journal.contents.has(version) for version in contents) == 2


def test_what_is_in_the_write_ahead_file_is_kept(state: Path) -> None:
    with worker(state, "commit", "relaxed", "30", "2000") as process:
        for _ in range(31):
            process.said()
    spoiled = (state / "journal.db-wal").read_bytes()
    rescue = repaired(state)
    assert (rescue.records, rescue.contents) == (30, 30)
    assert (aside(state) / "journal.db-wal").read_bytes() == spoiled


def test_a_repair_that_fails_changes_nothing(state: Path) -> None:
    filled(state, 5)
    spoil_header(state)
    before = {place.name for place in state.iterdir()}
    (state / "blobs").rename(state / "elsewhere")
    (state / "blobs").write_text("in the way")
    with pytest.raises(StateDamagedError):
        repaired(state)
    names = {place.name for place in state.iterdir()}
    (state / "aside").mkdir()
    (state / "aside/misplaced").touch()
    with pytest.raises(StateDamagedError):
        start_again(state, state / "aside")
    assert (names, (state / "aside/misplaced").exists()) == (before | {"elsewhere"}, True)


def test_a_database_put_back_after_an_interrupted_repair_is_not_mixed_with_the_one_aside(
    state: Path, tmp_path: Path
) -> None:
    filled(state)
    shutil.copytree(state, tmp_path / "backup")
    old = state / "damaged-20261120-120000"
    old.mkdir()
    (state / "journal.db").rename(old / "journal.db")
    kept = {"fresh.db": b"half", "journal.db-wal": b"of the old one"}
    for name, content in kept.items():
        (old / name).write_bytes(content)
    for part in ("journal.db", "position"):
        shutil.copy2(tmp_path / "backup" / part, state / part)
    with closing(Journal(state)) as journal:
        put(journal, "since", b"the backup")
    spoil_records(state)
    damaged = (state / "journal.db").read_bytes()
    with pytest.raises(StateDamagedError, match="replaced"):
        start_again(state, old)
    assert (state / "journal.db").read_bytes() == damaged
    new = folder_for_damage(state)
    assert start_again(state, new).records == 23
    assert (new / "journal.db").read_bytes() == damaged
    assert {name: (old / name).read_bytes() for name in kept} == kept


def test_each_part_is_moved_for_good_before_the_next_one(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(state)
    calls: list[str] = []

    def noting(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def noted(*values: object) -> object:
            calls.append(name)
            return call(*values)

        return noted

    for name in ("rename", "fsync"):
        monkeypatch.setattr(os, name, noting(name, getattr(os, name)))
    repaired(state)
    first, second = [at for at, name in enumerate(calls) if name == "rename"][:2]
    assert calls[first + 1 : second] == ["fsync", "fsync"]


CALLS = ("link", "unlink", "rename", "replace", "fsync", "mkdir", "open")


def repaired_until(state: Path, call: int) -> bool:
    """Repair in a process that exits instead of the N-th system call; True if it finished before."""
    child = os.fork()
    if child == 0:
        made = 0

        def ending(original: Callable[..., object]) -> Callable[..., object]:
            def act(*values: object, **options: object) -> object:
                nonlocal made
                made += 1
                if made == call:
                    os._exit(9)
                return original(*values, **options)

            return act

        for name in CALLS:
            setattr(os, name, ending(getattr(os, name)))
        try:
            repaired(state)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def killed(state: Path) -> None:
    """Create a damaged journal that is mostly in the write-ahead file."""
    child = os.fork()
    if child == 0:
        journal = Journal(state, durability="relaxed")
        put(journal, "a", b"1")
        journal.documents.advance(typed(opened(journal, "unsaved"), "typed for an hour\n"), ANN)
        sqlite3.connect(state / "journal.db", isolation_level=None).execute("UPDATE records SET size = 9")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def parts(state: Path) -> set[bytes]:
    return {part.read_bytes() for part in (*state.glob("journal.db*"), *state.glob("damaged-*/journal.db*"))}


def problem_of(state: Path) -> Exception | None:
    report = examine_journal(state)
    return None if report is None else report.problem


def test_interrupted_at_any_call_nothing_is_lost_and_the_next_repair_ends_it(state: Path, tmp_path: Path) -> None:
    killed(state)
    damaged = {(state / name).read_bytes() for name in ("journal.db", "journal.db-wal")}
    call, is_done = 0, False
    while not is_done:
        call += 1
        copy = tmp_path / f"copy-{call}"
        shutil.copytree(state, copy)
        is_done = repaired_until(copy, call)
        assert damaged <= parts(copy), call
        for folder in copy.glob("damaged-*"):
            folder.rename(copy / "damaged-20261120-120000")  # of an earlier second
        if examine_journal(copy) is None or isinstance(problem_of(copy), StateDamagedError):
            rescue = repaired(copy)
            assert (rescue.texts, rescue.records) == ({"unsaved-1.txt": "unsaved"}, 1), call
        assert not list(copy.glob("damaged-*/fresh.db")), call
        texts = [place.read_text() for place in copy.glob("damaged-*/unsaved-1.txt")]
        assert set(texts) == {"typed for an hour\n"}, call
        with fresh(copy):
            pass
        shutil.rmtree(copy)
    assert call > 10


@pytest.mark.parametrize("harm", [spoil_header, empty, remove, spoil_records])
def test_an_examination_changes_nothing_and_reports_damage(state: Path, harm: Callable[[Path], None]) -> None:
    assert examine_journal(state) is None
    contents = filled(state)
    with closing(Journal(state)) as journal:
        put(journal, "p", b"1", noted=False)
    report = examine_journal(state)
    assert report is not None
    assert (report.problem, report.records, report.pending, report.contents) == (None, 23, 1, len(contents) + 1)
    assert report.backlog == {"m": 5}
    harm(state)
    report = examine_journal(state)
    assert report is not None
    assert isinstance(report.problem, StateDamagedError)
