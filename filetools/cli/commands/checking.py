"""The command `doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from msgspec import to_builtins
from rich.text import Text

from filetools.app.health import Health, Rescue, StateRepair, examine, repair
from filetools.app.state import own_directory
from filetools.app.surroundings import Check, extras, facts, installation, look_around
from filetools.cli.command import command
from filetools.cli.runner import CHECKING, NO_STATE, CommandRunner
from filetools.cli.terminal import (
    FAILED,
    STDOUT,
    amount,
    print_beside,
    print_error,
    print_json,
    print_line,
    print_note,
    print_table,
    printable,
)
from filetools.models.words import STATE_PATH
from filetools.settings import SETTINGS_FILE, user_directory

MOST_SHOWN: Final = 10
_LOSSES: Final = {"permissions.json": ": the default permissions apply until you set yours again"}
_SIGNS: Final = {"ok": ("ok", "green"), "note": ("--", "dim"), "warning": ("!!", "bold yellow")}
_COLUMN: Final = 16


@command("doctor", CHECKING, examples=("filetools doctor", "filetools doctor --settings", "filetools doctor --repair"))
@click.option("--settings", is_flag=True, help="Print each setting, its value and source.")
@click.option("--repair", "mend", is_flag=True, help="Replace a damaged journal; your files stay.")
def doctor(runner: CommandRunner, *, settings: bool, mend: bool) -> None:
    """Check the installation and the root, and suggest remedies.

    Checks this installation and the state of the root. The exit code is 1 if the root cannot be opened. With --repair a
    damaged journal is set aside, and a fresh one keeps its contents, unsaved texts and mirrors.
    """
    if settings:
        _show_settings(runner)
        return
    mended = _mend(runner) if mend else None
    health = examine(runner.workplace.root, runner.options.state_dir)
    if runner.options.as_json:
        print_json({"success": _is_well(health), "data": _findings(runner, health, mended)})
    else:
        _print_installation()
        _print_root(runner, health)
    if not _is_well(health):
        raise click.exceptions.Exit(FAILED)


def _mend(runner: CommandRunner) -> StateRepair | None:
    mended = repair(runner.workplace.root, runner.options.state_dir)
    if runner.options.as_json:
        return mended
    if mended is None:
        print_line(("nothing to repair", "green"))
        return None
    print_line(("repaired  ", "bold green"), printable(mended.damage))
    aside = (runner.options.state_dir or runner.workplace.root / STATE_PATH) / mended.aside
    print_line(f"          the damaged files are kept in {printable(str(aside))}")
    for name in mended.misplaced:
        print_line(("          set aside, and created again: ", "yellow"), printable(f"{name}{_LOSSES.get(name, '')}"))
    if mended.rescue is not None:
        _print_rescue(mended.rescue, aside)
    return mended


def _print_rescue(rescue: Rescue, aside: Path) -> None:
    kept = (
        amount(rescue.contents, "content"),
        amount(len(rescue.texts), "unsaved text"),
        amount(len(rescue.mirrors), "mirror"),
    )
    print_line(f"          kept: {', '.join(kept)}; your files are as they were")
    for name, path in list(rescue.texts.items())[:MOST_SHOWN]:
        print_line(
            ("          unsaved text: ", "yellow"), printable(f"{path or 'of an unknown path'}, in {aside / name}")
        )
    lost = [
        f"{what} ({'not counted' if count is None else f'{count:,}'})"
        for what, count in (("records", rescue.records), ("checkpoints", rescue.checkpoints))
    ]
    print_line((f"          lost: {', '.join(lost)}, undo, runs and projects", "yellow"))
    print_line(("          then run 'filetools sync' if there is a mirror\n", "dim"))


def _is_well(health: Health) -> bool:
    return health.exists and health.problem is None


def _checks(runner: CommandRunner, health: Health) -> list[Check]:
    settings, _ = runner.settings()
    options = runner.options
    return look_around(
        runner.workplace.root, settings, state_directory=options.state_dir, mirror=options.mirror,
        added=() if health.journal is None else health.journal.mirrors,
    )  # fmt: skip


def _findings(runner: CommandRunner, health: Health, mended: StateRepair | None) -> dict[str, Any]:
    journal = health.journal
    return {
        **facts(),
        "extras": extras(),
        "programs": {check.name: check.state == "ok" for check in installation() if check.name == "git"},
        "root": {"exists": health.exists, "has_state": health.has_state, "is_open": health.is_open},
        "journal": None if journal is None else _journal_to_dict(journal),
        "misplaced": list(health.misplaced),
        "checks": [to_builtins(check) for check in _checks(runner, health)],
        "repair": None if mended is None else to_builtins(mended),
    }


def _journal_to_dict(journal: Any) -> dict[str, Any]:
    names = ("database_bytes", "wal_bytes", "schema", "records", "pending", "unrestored", "contents", "backlog")
    problem = journal.problem
    found = None if problem is None else {"error_code": problem.code, "error": problem.message}
    return {name: getattr(journal, name) for name in names} | {"problem": found}


def _print_installation() -> None:
    known = facts()
    STDOUT.print(Text.assemble(("filetools ", "bold"), str(known.pop("filetools"))))
    for name, value in known.items():
        _print_row("", "", name, str(value))
    _print_checks(installation())


def _print_root(runner: CommandRunner, health: Health) -> None:
    print_line()
    print_line(("root ", "bold"), printable(str(runner.workplace.root)))
    journal = health.journal
    if journal is None:
        _print_row("--", "dim", "journal", NO_STATE)
    elif journal.problem is not None:
        _print_row("!!", "bold red", "journal", f"{journal.problem.code}: it cannot be opened")
    else:
        _print_journal(health)
    _print_checks(_checks(runner, health))
    if health.problem is not None:
        print_error(health.problem)


def _print_journal(health: Health) -> None:
    journal = health.journal
    assert journal is not None
    size = journal.database_bytes + journal.wal_bytes
    _print_row(
        "ok",
        "green",
        "journal",
        f"opens; {amount(journal.records, 'record')}, schema {journal.schema}, {amount(size, 'byte')}",
    )
    _print_row("", "", "", f"{'a process has' if health.is_open else 'no process has'} the root open now")
    if journal.pending:
        _print_row("--", "dim", "pending", f"{journal.pending} changes that the next opening completes or undoes")
    if journal.unrestored:
        text = f"{journal.unrestored} changes were lost in a power cut and are not restored yet; 'filetools status' lists them"
        _print_row("!!", "bold yellow", "files", text)
    added = {row.place for row in journal.mirrors}
    for mirror, behind in journal.backlog.items():
        text = f"{mirror}: lacks {amount(behind, 'path')}; they are copied while the root is open with this mirror"
        remedy = "filetools sync" if mirror in added else "filetools sync --mirror DIR, or filetools mirror remove DIR"
        _print_row("!!", "bold yellow", "backlog", text, remedy)


def _print_checks(checks: Sequence[Check]) -> None:
    for check in checks:
        sign, style = _SIGNS[check.state]
        _print_row(sign, style, check.name, check.text, check.remedy)


def _print_row(sign: str, style: str, name: str, text: str, remedy: str | None = None) -> None:
    print_beside(Text.assemble((f"{sign:<2} ", style), name), printable(text), start=_COLUMN)
    if remedy is not None:
        print_beside(Text(), f"→ {printable(remedy)}", start=_COLUMN, style="cyan")


def _show_settings(runner: CommandRunner) -> None:
    values, sources = runner.settings()
    plain = to_builtins(values)
    if runner.options.as_json:
        print_json({"success": True, "data": {name: {"value": plain[name], "source": sources[name]} for name in plain}})
        return
    rows = []
    for name, value in plain.items():
        style = "" if sources[name] == "default" else "bold"
        rows.append((name, Text(printable(_shown(value)), style), Text(sources[name], style or "dim")))
    print_table(rows, "setting", "value", "source")
    own = own_directory(runner.workplace.root, runner.options.state_dir)
    print_note(f"Settings for every root: {user_directory() / SETTINGS_FILE}")
    if own is not None:
        print_note(f"Settings for this root: {own / SETTINGS_FILE}")


def _shown(value: object) -> str:
    """Return a setting as it is written in the environment or in settings.toml."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "not set" if value is None else str(value)
