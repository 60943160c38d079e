"""The doctor: examines and repairs the state of a root, which need not be open, and checks its surroundings.

The surroundings are the file system, the kernel's limits for watching, leftovers of repairs, mirrors, and installed packages.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import which
from typing import Final, Literal

from msgspec import Struct

from filetools.app.mirrors import home_of, presence
from filetools.app.state import blocking, is_id, own_directory, planted_state
from filetools.app.trust import is_anothers, refuse_owner
from filetools.distribution import DISTRIBUTION, install_command, installed_version
from filetools.errors import AccessDeniedError, FileToolsError, LockTimeoutError, StateDamagedError
from filetools.journal.backlog import MirrorRow
from filetools.journal.storage.rescue import JournalReport as JournalReport
from filetools.journal.storage.rescue import Rescue, folder_for_damage, start_again
from filetools.journal.storage.rescue import examine_journal as examine_journal
from filetools.models.words import STATE_PATH
from filetools.paths.resolver import O_PATH
from filetools.permissions.policy import SavedPermissions
from filetools.settings import Settings
from filetools.stores.system import Opened
from filetools.tree.leader import Leadership
from filetools.tree.watching import reason_to_poll

LEADER_LOCK: Final = "leader.lock"
_KINDS: Final = {
    **dict.fromkeys(("beside", "blobs", "displaced", "tmp", "trash"), stat.S_IFDIR),
    **dict.fromkeys((LEADER_LOCK, "notify", "gate", "id", "mark", "position", "reserve", "turn"), stat.S_IFREG),
}
"""The file type of each name in a state directory."""
_RULES: Final = "permissions.json"


class Health(Struct, frozen=True, kw_only=True):
    """Result of examining a root; the examination changes nothing."""

    exists: bool
    """True if the root is a directory."""
    has_state: bool
    """True if it has a state directory; a root without one was never opened."""
    journal: JournalReport | None = None
    """None before a journal is made, and for a journal of another user."""
    misplaced: tuple[str, ...] = ()
    """Entries besides the journal that prevent opening: unreadable or of the wrong type; relative to the state directory."""

    @property
    def problem(self) -> FileToolsError | None:
        """The error that opening the root would raise, or None."""
        if self.misplaced:
            return StateDamagedError(f"{', '.join(self.misplaced)} cannot be used")
        return None if self.journal is None else self.journal.problem


class StateRepair(Struct, frozen=True, kw_only=True):
    """Result of a repair."""

    damage: str
    """What was wrong."""
    aside: str
    """Name of the folder in the state directory that now holds the damaged files."""
    misplaced: tuple[str, ...] = ()
    """Entries set aside besides the journal; the next opening recreates them."""
    rescue: Rescue | None = None
    """What was recovered from the journal and what is lost; None if the journal was sound."""


def examine(root: Path, state_directory: Path | None = None) -> Health:
    """Examine a root and its journal. Reads the whole journal and blocks: do not call it on an event loop."""
    directory = state_directory or root / STATE_PATH
    is_planted = blocking(directory) is not None
    is_refused = is_planted or is_anothers(directory)
    if is_refused or not directory.is_dir():
        problem = JournalReport(problem=planted_state()) if is_planted else None
        return Health(exists=root.is_dir(), has_state=is_refused, journal=problem)
    rules = own_directory(root, state_directory) or directory
    return Health(
        exists=root.is_dir(),
        has_state=True,
        journal=examine_journal(directory),
        misplaced=tuple(_misplaced(root, directory, rules)),
    )


def repair(root: Path, state_directory: Path | None = None) -> StateRepair | None:
    """Set aside whatever prevents opening and rebuild the state from disk. Return None if nothing is wrong.

    The files of the root are not touched. Blocks: do not call it on an event loop.

    Raises:
        LockTimeoutError: A process has the root open; end it first.
        StateDamagedError: The state directory's path is a link or not a directory.
        StateUntrustedError: Another user owns the state directory.
        StateVersionError, AccessDeniedError, DiskFullError: The journal cannot be used, but is not damaged either.
    """
    directory = state_directory or root / STATE_PATH
    if blocking(directory) is not None:
        raise planted_state()
    refuse_owner(directory)
    if not directory.is_dir():
        return None
    aside = folder_for_damage(directory)
    with _kept(directory, aside):
        rules = own_directory(root, state_directory) or directory
        misplaced = tuple(_misplaced(root, directory, rules))
        for name in misplaced:
            _put_aside(rules if name == _RULES else directory, aside, name)
        if "id" in misplaced:  # the IDs on both sides must be equal
            _put_aside(root / STATE_PATH, aside / "root", "id")
        report = examine_journal(directory)
        if report is None or report.problem is None:
            if not misplaced:
                return None
            damage = f"{', '.join(misplaced)} cannot be used"
            return StateRepair(damage=damage, aside=aside.name, misplaced=misplaced)
        if not isinstance(report.problem, StateDamagedError):
            raise report.problem
        rescue = start_again(directory, aside)
    return StateRepair(damage=report.problem.message, aside=aside.name, misplaced=misplaced, rescue=rescue)


def _misplaced(root: Path, directory: Path, rules: Path) -> Iterator[str]:
    """Yield the entries besides the journal that the opening or a first call would refuse."""
    for name, kind in _KINDS.items():
        if _kind(directory / name) not in (None, kind):
            yield name
    ids = [side / "id" for side in (directory, root / STATE_PATH) if _kind(side / "id") == stat.S_IFREG]
    if not all(is_id(each.read_bytes()) for each in ids):
        yield "id"
    try:
        SavedPermissions.read(rules / _RULES)
    except StateDamagedError:
        yield _RULES


def _kind(place: Path) -> int | None:
    try:
        return stat.S_IFMT(place.lstat().st_mode)
    except FileNotFoundError:
        return None


def _put_aside(directory: Path, aside: Path, name: str) -> None:
    target = aside / name
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.path.lexists(directory / name):
        shutil.move(directory / name, target)  # the root and its state directory may be on different disks


@contextmanager
def _kept(directory: Path, aside: Path) -> Iterator[None]:
    """Hold the leader lock of a state directory, so that no other process works in it.

    Args:
        directory: The state directory.
        aside: Where to move the entry at the lock file's path if it is not a regular file.
    """
    with closing(Leadership(directory, LEADER_LOCK)) as leader:
        try:
            if _kind(directory / LEADER_LOCK) not in (None, stat.S_IFREG):
                _put_aside(directory, aside, LEADER_LOCK)
            is_ours = leader.try_lead()
        except OSError as exc:
            raise AccessDeniedError("the state directory", exc.strerror or "denied") from exc
        if not is_ours:
            raise LockTimeoutError("the journal", 0, "a process that has this root open")
        yield


CheckState = Literal["ok", "note", "warning"]
LEAST_FREE_BYTES: Final = 200 * 1024 * 1024
ENOUGH_WATCHES: Final = 65_536
_INOTIFY: Final = Path("/proc/sys/fs/inotify")

_REQUIREMENT: Final = re.compile(r"([\w.-]+)(?:\[[^]]*\])?[^;]*;\s*extra\s*==\s*['\"]([\w-]+)['\"]")
_NOT_OFFERED: Final = ("all", "dev", "frameworks", "peers")
_PURPOSES: Final = {
    "cli": "this command",
    "context": "what Python projects depend on",
    "deepagents": "agents built with deepagents",
    "docs": "building the documents as a site",
    "editor": "the page for people",
    "langchain": "agents built with LangChain or LangGraph",
    "mcp": "filetools mcp",
    "openai-agents": "agents built with the OpenAI Agents SDK",
    "otel": "traces",
    "pydantic-ai": "agents built with pydantic-ai",
    "search": "regular expressions",
    "server": "filetools serve",
    "sync": "programs without an event loop",
}
_FILLING: Final = ", and does not hold everything yet; 'filetools sync' fills it"


class Check(Struct, frozen=True, kw_only=True):
    """The result of one check."""

    name: str
    state: CheckState
    text: str
    remedy: str | None = None
    """What to do about it."""


def look_around(
    root: Path,
    settings: Settings,
    *,
    state_directory: Path | None = None,
    mirrors: Sequence[MirrorRow] = (),
) -> list[Check]:
    """Check a root's environment. Blocks.

    Args:
        root: An existing folder.
        settings: Say whether watching is enabled.
        state_directory: The state directory of the root, if not in `.filetools`.
        mirrors: The mirrors that were added to the root.
    """
    state, found = state_directory or root / STATE_PATH, list[Check]()
    is_refused = is_anothers(state)
    if is_refused:
        found.append(
            Check(
                name="state", state="warning", text="another user owns it, so you can only read, without a history",
                remedy="keep yours in another folder with --state-dir",
            )
        )  # fmt: skip
    if not os.access(root, os.W_OK | os.X_OK):
        remedy = f"chmod u+wx {str(root)!r}, or ask its owner"
        found.append(Check(name="rights", state="warning", text="you may not write in this folder", remedy=remedy))
    found += [file_system(root), _watches(settings)]
    if not is_refused:
        free = shutil.disk_usage(state if state.is_dir() else root).free
        if free < LEAST_FREE_BYTES:
            remedy = "free some space; former versions keep up to FILETOOLS_RETENTION_BYTES"
            found.append(Check(name="space", state="warning", text=f"{free // 1024**2} MiB are free", remedy=remedy))
        found += [
            Check(
                name="left over", state="note", text=f"{place.name}: a damaged journal that was repaired",
                remedy=f"remove {str(place)!r} once nothing is missing",
            )
            for place in sorted(state.glob("damaged-*"))
        ]  # fmt: skip
    return [*found, *(_mirror(row, home_of(root)) for row in mirrors)]


def file_system(root: Path) -> Check:
    """Check whether a root is on a file system that other machines or programs can change without the kernel noticing."""
    reason = None
    with suppress(OSError), Opened(os.open, root, O_PATH or os.O_RDONLY) as descriptor:
        reason = reason_to_poll(descriptor)
    if reason is None:
        return Check(name="file system", state="ok", text="local")
    return Check(
        name="file system", state="warning", text=f"{reason}, and their locks are not ours",
        remedy="let one machine write, or keep the state on a local disk with --state-dir",
    )  # fmt: skip


def _watches(settings: Settings) -> Check:
    if not settings.watch:
        return Check(name="watching", state="note", text="switched off by the setting 'watch'")
    try:
        granted = int((_INOTIFY / "max_user_watches").read_text(encoding="ascii"))
    except OSError:
        return Check(name="watching", state="note", text="by looking again and again: the kernel is not asked here")
    text = f"{granted:,} inotify watches granted, one for each folder"
    if granted >= ENOUGH_WATCHES:
        return Check(name="watching", state="ok", text=text)
    return Check(
        name="watching", state="warning", text=f"{text}; beyond that, filetools polls",
        remedy=f"sudo sysctl fs.inotify.max_user_watches={ENOUGH_WATCHES}",
    )  # fmt: skip


def _mirror(row: MirrorRow, home: bytes) -> Check:
    state, reason = presence(row, home)
    if state != "away":
        return Check(name="mirror", state="ok", text=f"is there{_FILLING if state == 'filling' else ''}: {row.place}")
    return Check(
        name="mirror", state="warning", text=f"{reason}; what changes waits for it: {row.place}",
        remedy="restore it, or forget it with 'filetools mirror remove DIR'",
    )  # fmt: skip


def facts() -> dict[str, str | None]:
    """Return the versions of filetools, Python, the platform and SQLite."""
    return {
        "filetools": installed_version(),
        "python": f"{platform.python_version()} ({sys.implementation.name})",
        "platform": platform.platform(terse=True),
        "sqlite": sqlite3.sqlite_version,
    }


def extras() -> dict[str, dict[str, list[str]]]:
    """Return, for each optional extra, its `present` and `missing` packages."""
    from importlib.metadata import requires  # only needed here, and slow

    found: dict[str, dict[str, list[str]]] = {}
    for requirement in requires(DISTRIBUTION) or ():
        match = _REQUIREMENT.fullmatch(requirement)
        if match and match[2] not in _NOT_OFFERED and match[1] != DISTRIBUTION:
            packages = found.setdefault(match[2], {"present": [], "missing": []})
            packages["missing" if installed_version(match[1]) is None else "present"].append(match[1])
    return found


def installation() -> list[Check]:
    """Check if git and the extras are installed, with the command to install the missing ones."""
    git = Check(name="git", state="ok", text="found")
    if not which("git"):
        git = Check(name="git", state="note", text="its history is unknown", remedy="install git with your system")
    return [git, *(_extra(name, **packages) for name, packages in extras().items())]


def _extra(name: str, present: list[str], missing: list[str]) -> Check:
    purpose = _PURPOSES.get(name, "")
    if not missing:
        return Check(name=f"[{name}]", state="ok", text=purpose)
    lacking = f", lacks {', '.join(missing)}" if present else ""
    return Check(name=f"[{name}]", state="note", text=f"{purpose}{lacking}", remedy=install_command(name))
