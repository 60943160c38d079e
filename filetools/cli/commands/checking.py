"""The command that examines: `doctor`."""

from __future__ import annotations

import platform
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Annotated, Any, Final

import typer
from rich.table import Table
from rich.text import Text

from filetools.app import Health, Repair, examine, repair
from filetools.cli.command import workspace_command
from filetools.cli.desk import CHECKING, Desk
from filetools.cli.exit_codes import FAILED
from filetools.cli.terminal import STDOUT, fact_table, print_error, print_json, print_line, print_table, printable
from filetools.settings import Settings

_PANEL: Final = "Workspace"
_REQUIREMENT: Final = re.compile(r"([\w.-]+)(?:\[[^]]*\])?[^;]*;\s*extra\s*==\s*['\"]([\w-]+)['\"]")
_NOT_OFFERED: Final = ("all", "dev")
_PROGRAMS: Final = (
    ("rg", "faster searching; it is in filetools[search]"),
    ("git", "reading what git ignores and keeps"),
)
MOST_SHOWN: Final = 10


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    workspace_command(
        app, CHECKING, panel=_PANEL,
        examples=("filetools doctor", "filetools doctor --settings", "filetools doctor --repair"),
    )(doctor)  # fmt: skip


def doctor(
    desk: Desk,
    *,
    settings: Annotated[bool, typer.Option("--settings", help="Print each setting, its value and source.")] = False,
    mend: Annotated[bool, typer.Option("--repair", help="Replace a damaged journal; your files stay.")] = False,
) -> None:
    """Say what is missing or wrong, and what to do about it.

    Examines this installation and the state of the root; ends with exit code 1 if the root cannot be opened. With
    --repair a damaged journal is moved aside, and whatever can be read of it becomes a fresh one.
    """
    if settings:
        _show_settings(desk)
        return
    mended = _mend(desk) if mend else None
    health = examine(desk.workplace.root, desk.options.state_dir)
    if desk.options.as_json:
        print_json({"success": _is_well(health), "data": _findings(health, mended)})
    else:
        _print_installation()
        _print_root(desk, health)
    if not _is_well(health):
        desk.note_failure(FAILED)
    desk.end()


def extras() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each optional extra with the packages of it that are installed, and those that are missing."""
    wanted: dict[str, list[str]] = {}
    for requirement in requires("filetools") or ():
        match = _REQUIREMENT.fullmatch(requirement)
        if match and match[2] not in _NOT_OFFERED and match[1] != "filetools":
            wanted.setdefault(match[2], []).append(match[1])
    for extra, packages in wanted.items():
        present = [package for package in packages if package_version(package) is not None]
        yield extra, present, [package for package in packages if package not in present]


def package_version(package: str) -> str | None:
    """Return the version of an installed package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _mend(desk: Desk) -> Repair | None:
    mended = repair(desk.workplace.root, desk.options.state_dir)
    if desk.options.as_json:
        return mended
    if mended is None:
        print_line(("nothing to repair", "green"))
        return None
    print_line(("repaired  ", "bold green"), printable(mended.damage))
    print_line(f"          the damaged journal is kept in .filetools/{mended.aside}")
    print_line(f"          rescued: {mended.rescue.records} records, {mended.rescue.contents} contents")
    for path in mended.rescue.unapplied[:MOST_SHOWN]:
        print_line(("          not carried out, bytes kept as a version: ", "yellow"), printable(path))
    print_line(("          a mirror may lack changes: run 'filetools sync --verify --mirror DIR'\n", "dim"))
    return mended


def _is_well(health: Health) -> bool:
    return health.exists and (health.journal is None or health.journal.problem is None)


def _findings(health: Health, mended: Repair | None) -> dict[str, Any]:
    journal = health.journal
    return {
        "filetools": package_version("filetools"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "sqlite": sqlite3.sqlite_version,
        "extras": {extra: {"present": present, "missing": missing} for extra, present, missing in extras()},
        "programs": {name: shutil.which(name) is not None for name, _ in _PROGRAMS},
        "root": {"exists": health.exists, "has_state": health.has_state, "is_open": health.is_open},
        "journal": None if journal is None else _journal_to_dict(journal),
        "repair": None if mended is None else asdict(mended),
    }


def _journal_to_dict(journal: Any) -> dict[str, Any]:
    names = ("database_bytes", "wal_bytes", "schema", "records", "pending", "contents", "debts")
    problem = journal.problem
    found = None if problem is None else {"error_code": problem.code, "error": problem.message}
    return {name: getattr(journal, name) for name in names} | {"problem": found}


def _print_installation() -> None:
    table = fact_table()
    table.add_row("filetools", package_version("filetools"))
    table.add_row("python", f"{platform.python_version()} ({sys.implementation.name})")
    table.add_row("platform", platform.platform(terse=True))
    table.add_row("sqlite", sqlite3.sqlite_version)
    for name, purpose in _PROGRAMS:
        found = shutil.which(name) is not None
        table.add_row(name, Text("found", style="green") if found else Text(f"not found: {purpose}", style="yellow"))
    for extra, present, missing in extras():
        standing, style = ("incomplete", "yellow") if present else ("missing", "dim")
        install = f"{standing:<10}  pip install 'filetools[{extra}]'"
        table.add_row(f"[{extra}]", Text(install, style=style) if missing else Text("present", style="green"))
    print_table(table)


def _print_root(desk: Desk, health: Health) -> None:
    STDOUT.print()
    table = fact_table()
    table.add_row("root", printable(str(desk.workplace.root)))
    journal = health.journal
    if not health.exists:
        table.add_row("state", Text("the root is no folder", style="bold red"))
    elif journal is None:
        table.add_row("state", Text("never opened; the first call makes .filetools", style="dim"))
    elif journal.problem is not None:
        table.add_row("journal", Text(journal.problem.code, style="bold red"))
    else:
        _add_journal(table, health)
    print_table(table)
    if journal is not None and journal.problem is not None:
        print_error(journal.problem)


def _add_journal(table: Table, health: Health) -> None:
    journal = health.journal
    assert journal is not None
    table.add_row("journal", Text("opens", style="green"))
    table.add_row("schema", str(journal.schema))
    table.add_row("records", f"{journal.records}, {journal.pending} pending")
    table.add_row("contents", str(journal.contents))
    table.add_row("size", f"{journal.database_bytes:,} bytes, write-ahead file {journal.wal_bytes:,} bytes")
    for mirror, behind in journal.debts.items():
        table.add_row(mirror, f"lacks {behind} paths; they follow when the root is open with its mirror")
    table.add_row("open", "by a process now" if health.is_open else "by nobody")


def _show_settings(desk: Desk) -> None:
    values, sources = desk.settings()
    plain = values.model_dump(mode="json")
    if desk.options.as_json:
        told = {name: {"value": plain[name], "source": sources[name]} for name in Settings.model_fields}
        print_json({"success": True, "data": told})
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("setting", "value", "source"):
        table.add_column(heading, header_style="dim", overflow="fold", no_wrap=heading == "setting")
    for name in Settings.model_fields:
        value = plain[name]
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        style = "" if sources[name] == "default" else "bold"
        table.add_row(name, Text(printable(shown), style=style), Text(sources[name], style=style or "dim"))
    print_table(table)
