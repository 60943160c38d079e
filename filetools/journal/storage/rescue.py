"""Examines a journal without opening it for work, and repairs a damaged one.

A repair sets the damaged journal aside as it is, and starts a fresh one with what cannot be found on disk. Only SQLite reads
the damaged database, as far as it can. Contents that match their hash, and mirrors, are taken over; texts that may be unsaved
become files beside the damaged journal. The files of the workspace are not touched.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain, count
from pathlib import Path
from typing import Final

from msgspec import Struct, field, structs

from filetools.durable import sync_directory
from filetools.errors import FileToolsError, StateDamagedError
from filetools.journal.backlog import COUNT_LACKING, SELECT_MIRRORS, MirrorRow
from filetools.journal.records import SELECT_RECORD, record_from
from filetools.journal.storage.birth import (
    DATABASE_NAME,
    PARTS,
    POSITION_FILE,
    building,
    connect,
    has_database,
    install,
    refuse_others,
)
from filetools.journal.storage.contents import BlobFolder
from filetools.journal.storage.database import TRANSLATED, Row, size_of
from filetools.journal.storage.gate import Gate
from filetools.journal.storage.schema import schema_of

_FRESH: Final = "fresh.db"
_PROJECTS: Final = (
    "SELECT json_extract(value, '$.path') AS path FROM rows"
    " WHERE space = 'registry' AND key LIKE 'project%' ORDER BY path"
)


class JournalReport(Struct, frozen=True, kw_only=True):
    """What an examination found."""

    database_bytes: int = 0
    wal_bytes: int = 0
    """Size of the write-ahead file."""
    problem: FileToolsError | None = None
    """Why the journal cannot be used, or None; a repair can mend a `StateDamagedError`."""
    schema: int = 0
    records: int = 0
    pending: int = 0
    """Records that are committed but not applied; the next opening settles them."""
    unrestored: int = 0
    """Records that a power cut may have undone in the files, and that could not be restored yet."""
    contents: int = 0
    backlog: dict[str, int] = field(default_factory=dict)
    """Number of paths that each mirror lacks."""
    mirrors: tuple[MirrorRow, ...] = ()
    """The mirrors that were added to the root."""
    projects: tuple[str, ...] = ()
    """Folders that are listed as projects of the root."""


def examine_journal(directory: Path) -> JournalReport | None:
    """Read a whole journal, changing nothing; None if there is none yet. Takes seconds if it is large."""
    sizes = JournalReport(database_bytes=size_of(directory / PARTS[0]), wal_bytes=size_of(directory / PARTS[1]))
    try:
        with TRANSLATED:
            if not has_database(directory):
                return None
            refuse_others(directory)
            with closing(connect(directory / PARTS[0], mode="ro")) as connection:
                return _examined(connection, sizes)
    except FileToolsError as exc:
        return structs.replace(sizes, problem=exc)


def _examined(connection: sqlite3.Connection, sizes: JournalReport) -> JournalReport:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StateDamagedError(str(verdict))
    are_pending = [record_from(row).state == "pending" for row in connection.execute(SELECT_RECORD)]
    mirrors = tuple(MirrorRow(*row) for row in connection.execute(SELECT_MIRRORS).fetchall())
    behind = {row.place: connection.execute(COUNT_LACKING, {"mirror": row.place}).fetchone()[0] for row in mirrors}
    return structs.replace(
        sizes, schema=schema_of(connection), records=len(are_pending), pending=sum(are_pending),
        contents=connection.execute("SELECT count(*) FROM contents").fetchone()[0],
        backlog={place: count for place, count in behind.items() if count},
        unrestored=connection.execute("SELECT count(*) FROM unrestored").fetchone()[0],
        mirrors=tuple(row for row in mirrors if row.root is not None),
        projects=tuple(str(path) for (path,) in connection.execute(_PROJECTS)),
    )  # fmt: skip


# -- repairing


class Rescue(Struct, frozen=True, kw_only=True):
    """What a fresh journal took over from a damaged one."""

    contents: int
    """Versions whose bytes are kept."""
    texts: dict[str, str | None] = {}
    """Paths of unsaved texts, by the names of their files beside the damaged journal; None if a path cannot be read."""
    mirrors: tuple[str, ...] = ()
    """Places of mirrors; each is compared with the tree when it is next used."""
    records: int | None = None
    """Records that are lost; None if they cannot be counted."""
    checkpoints: int | None = None
    """Checkpoints that are lost; None if they cannot be counted."""


def folder_for_damage(directory: Path) -> Path:
    """Return the folder for the damaged journal of a state directory: that of an interrupted repair, or a new one."""
    started = [fresh.parent for fresh in sorted(directory.glob(f"damaged-*/{_FRESH}"), reverse=True)]
    # Omit folders with a database if the state directory has one, too: it was put there after that repair.
    usable = (folder for folder in started if not _have_both(PARTS[:1], directory, folder))
    name = time.strftime("damaged-%Y%m%d-%H%M%S")
    names = chain((name,), (f"{name}-{number}" for number in count(2)))
    return next(chain(usable, (directory / each for each in names if not os.path.lexists(directory / each))))


def start_again(directory: Path, aside: Path) -> Rescue:
    """Build a fresh journal from a damaged one, set that aside, and put the fresh one into its place.

    If it is interrupted, each file of the damaged database is in its place or aside; run it again to finish.

    Args:
        directory: The state directory; nobody may have its journal open.
        aside: A directory inside it, as `folder_for_damage` returns it; made if it is missing.

    Raises:
        LockTimeoutError: Another process writes the journal.
        DiskFullError, AccessDeniedError, StateDamagedError: It failed, for example because `aside` holds a part of
            another database.
    """
    with TRANSLATED, closing(Gate(directory)) as gate, gate:
        is_new = not aside.exists()
        aside.mkdir(mode=0o700, exist_ok=True)
        _move(PARTS[::-1], aside, directory)  # undoes an interrupted repair
        try:
            rescue = _rebuild(directory, aside)
        except BaseException:
            if is_new:
                shutil.rmtree(aside)
            raise
        _move(PARTS, directory, aside)
        install(aside / _FRESH, directory)
        # Numbers start anew. Until the database is in its place, the note shows that there was one.
        (directory / POSITION_FILE).unlink(missing_ok=True)
        return rescue


def _move(parts: Sequence[str], source: Path, target: Path) -> None:
    if _have_both(parts, source, target):
        raise FileExistsError(errno.EEXIST, "the journal's database was replaced while it was repaired")
    # The write-ahead file is never missing beside a database in its place, which could be opened without it, and never beside
    # a fresh one, which would replay its pages. Without the syncs a power cut could undo a move, and keep a later one.
    for part in parts:
        if os.path.lexists(source / part):
            (source / part).rename(target / part)
            sync_directory(target)
            sync_directory(source)


def _have_both(parts: Sequence[str], one: Path, other: Path) -> bool:
    return any(os.path.lexists(one / part) and os.path.lexists(other / part) for part in parts)


def _rebuild(directory: Path, aside: Path) -> Rescue:
    """Build a fresh database from what can be read of the damaged one in its place; unsaved texts become files."""
    damaged, rescue = directory / DATABASE_NAME, Rescue(contents=0)
    with building(aside / _FRESH, directory) as target:
        # SQLite would throw away the write-ahead file of an empty database.
        if damaged.is_file() and not damaged.is_symlink() and damaged.stat().st_size > 0:
            with closing(connect(damaged, mode="ro")) as source, suppress(sqlite3.DatabaseError):
                # Else SQLite refuses to read a file that is shorter than its header says.
                source.execute("PRAGMA writable_schema = ON")
                rescue = _take_over(source, target, aside)
        blobs = BlobFolder(directory / "blobs", durable=True)
        found = ((bytes.fromhex(name), blobs.intact_size(name)) for name in blobs.names())
        put = "INSERT OR IGNORE INTO contents (hash, size, used, bytes) VALUES (?, ?, 0, NULL)"
        target.executemany(put, ((digest, size) for digest, size in found if size is not None))
        (contents,) = target.execute("SELECT count(*) FROM contents").fetchone()
    return structs.replace(rescue, contents=contents)


def _take_over(source: sqlite3.Connection, target: sqlite3.Connection, aside: Path) -> Rescue:
    for digest, size, used, content in _rows(source, "SELECT hash, size, used, bytes FROM contents", "rowid"):
        is_row = isinstance(size, int) and isinstance(used, int) and isinstance(content, bytes)
        if is_row and hashlib.sha256(content).digest() == digest:
            values = (digest, size, min(used, 0), content)
            target.execute("INSERT OR IGNORE INTO contents (hash, size, used, bytes) VALUES (?, ?, ?, ?)", values)
    put = "INSERT OR IGNORE INTO mirrors (place, identity, root) VALUES (?, ?, ?)"
    # Without their positions: each is compared in full.
    target.executemany(put, _rows(source, "SELECT place, identity, root FROM mirrors", "place"))
    return Rescue(
        contents=0,
        texts=_write_texts(source, aside),
        mirrors=tuple(place for (place,) in target.execute("SELECT place FROM mirrors ORDER BY place")),
        records=_count(source, "records"),
        checkpoints=_count(source, "checkpoints"),
    )


def _write_texts(source: sqlite3.Connection, aside: Path) -> dict[str, str | None]:
    """Write every text that may be unsaved into a file."""
    written: dict[str, str | None] = {}
    for path, is_dirty, text in dict.fromkeys(_rows(source, "SELECT path, dirty, text FROM documents", "id")):
        if is_dirty and isinstance(text, bytes):
            file = f"unsaved-{len(written) + 1}.txt"
            (aside / file).write_bytes(text)
            written[file] = path if isinstance(path, str) else None
    return written


def _rows(source: sqlite3.Connection, query: str, key: str) -> Iterator[Row]:
    """Yield the rows of a query that SQLite can read, from both ends up to the damage; some may be repeated."""
    for order in ("ASC", "DESC"):
        try:
            yield from source.execute(f"{query} ORDER BY {key} {order}")
        except sqlite3.DatabaseError:
            continue
        return


def _count(source: sqlite3.Connection, table: str) -> int | None:
    try:
        return int(source.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    except sqlite3.DatabaseError:
        return None
