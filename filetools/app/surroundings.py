"""Checks a root's environment: file system, the kernel's limits for watching, leftovers of repairs, mirrors, packages."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import requires
from pathlib import Path
from shutil import which
from typing import Final, Literal

from msgspec import Struct

from filetools.app.mirrors import home_of, presence
from filetools.app.trust import is_anothers
from filetools.distribution import DISTRIBUTION, install_command, installed_version
from filetools.journal.backlog import MirrorRow
from filetools.models.words import STATE_PATH
from filetools.settings import Settings
from filetools.tree.watching import reason_at

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
    state = state_directory or root / STATE_PATH
    found = [*_owner(state), *_rights(root), file_system(root), _watches(settings)]
    if not is_anothers(state):
        found += [*_space(state if state.is_dir() else root), *_repaired(state)]
    return [*found, *(_mirror(row, home_of(root)) for row in mirrors)]


def _owner(state: Path) -> Iterator[Check]:
    if is_anothers(state):
        yield Check(
            name="state", state="warning", text="another user owns it, so you can only read, without a history",
            remedy="keep yours in another folder with --state-dir",
        )  # fmt: skip


def _rights(root: Path) -> Iterator[Check]:
    if not os.access(root, os.W_OK | os.X_OK):
        yield Check(
            name="rights", state="warning", text="you may not write in this folder",
            remedy=f"chmod u+wx {str(root)!r}, or ask its owner",
        )  # fmt: skip


def file_system(root: Path) -> Check:
    """Check whether a root is on a file system that other machines or programs can change without the kernel noticing."""
    reason = reason_at(str(root))
    if reason is None:
        return Check(name="file system", state="ok", text="local")
    return Check(
        name="file system", state="warning", text=f"{reason}, and their locks are not ours",
        remedy="let one machine write, or keep the state on a local disk with --state-dir",
    )  # fmt: skip


def _space(folder: Path) -> Iterator[Check]:
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE_BYTES:
        yield Check(
            name="space", state="warning", text=f"{free // 1024**2} MiB are free",
            remedy="free some space; former versions keep up to FILETOOLS_RETENTION_BYTES",
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


def _repaired(state: Path) -> Iterator[Check]:
    for place in sorted(state.glob("damaged-*")):
        yield Check(
            name="left over", state="note", text=f"{place.name}: a damaged journal that was repaired",
            remedy=f"remove {str(place)!r} once nothing is missing",
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
