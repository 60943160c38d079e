"""The command `doctor`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click
from msgspec import to_builtins
from rich.text import Text

from filetools.app.doctor import (
    Check,
    Health,
    JournalReport,
    StateRepair,
    examine,
    extras,
    facts,
    installation,
    look_around,
    repair,
)
from filetools.app.state import own_directory
from filetools.cli.command import command
from filetools.cli.runner import OWN, CommandRunner
from filetools.cli.terminal import (
    FAILED,
    amount,
    print_error,
    print_facts,
    print_json,
    print_line,
    print_note,
    print_table,
    printable,
    styled,
)
from filetools.models.words import STATE_PATH
from filetools.settings import SETTINGS_FILE, user_directory

MOST_SHOWN: Final = 10
_LOSSES: Final = {"permissions.json": ": the default permissions apply until you set yours again"}
_SIGNS: Final = {"ok": ("ok", "green"), "note": ("--", "dim"), "warning": ("!!", "bold yellow")}


@command("doctor", OWN, examples=("filetools doctor", "filetools doctor --settings", "filetools doctor --repair"))
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
    root, state = runner.workplace.root, runner.options.state_dir
    mended = repair(root, state) if mend else None
    health = examine(root, state)
    if runner.options.as_json:
        print_json({"success": _is_well(health), "data": _findings(runner, health, mended)})
    else:
        if mend:
            print_facts(_repaired(mended, state or root / STATE_PATH))
            print_line()
        print_facts(facts().items())
        _print_checks(installation())
        print_line()
        print_line(("root ", "bold"), printable(str(root)))
        _print_checks(_checks(runner, health))
        if health.problem is not None:
            print_error(health.problem)
    if not _is_well(health):
        raise click.exceptions.Exit(FAILED)


def _repaired(mended: StateRepair | None, directory: Path) -> Iterator[tuple[str, str]]:
    if mended is None:
        yield "repaired", "nothing to repair"
        return
    aside = directory / mended.aside
    yield "repaired", mended.damage
    yield "set aside", f"the damaged files, in {aside}"
    yield from (("recreated", f"{name}{_LOSSES.get(name, '')}") for name in mended.misplaced)
    rescue = mended.rescue
    if rescue is None:
        return
    kept = (
        amount(rescue.contents, "content"),
        amount(len(rescue.texts), "unsaved text"),
        amount(len(rescue.mirrors), "mirror"),
    )
    yield "kept", f"{', '.join(kept)}; your files are as they were"
    for name, path in list(rescue.texts.items())[:MOST_SHOWN]:
        yield "unsaved text", f"{path or 'of an unknown path'}, in {aside / name}"
    lost = [
        f"{what} ({'not counted' if count is None else f'{count:,}'})"
        for what, count in (("records", rescue.records), ("checkpoints", rescue.checkpoints))
    ]
    yield "lost", f"{', '.join(lost)}, undo, runs and projects"
    yield "next", "run 'filetools sync' if there is a mirror"


def _is_well(health: Health) -> bool:
    return health.exists and health.problem is None


def _checks(runner: CommandRunner, health: Health) -> list[Check]:
    settings, _ = runner.settings()
    journal = health.journal
    added = () if journal is None else journal.mirrors
    around = look_around(runner.workplace.root, settings, state_directory=runner.options.state_dir, mirrors=added)
    if runner.lacks_state or not health.has_state:
        return [Check(name="journal", state="note", text=runner.no_state), *around]
    return [*(() if journal is None or journal.problem is not None else _journal_checks(journal)), *around]


def _findings(runner: CommandRunner, health: Health, mended: StateRepair | None) -> dict[str, Any]:
    journal = health.journal
    return {
        **facts(),
        "extras": extras(),
        "programs": {check.name: check.state == "ok" for check in installation() if check.name == "git"},
        "root": {"exists": health.exists, "has_state": health.has_state},
        "journal": None if journal is None else _journal_to_dict(journal),
        "misplaced": list(health.misplaced),
        "checks": [to_builtins(check) for check in _checks(runner, health)],
        "repair": None if mended is None else to_builtins(mended),
    }


def _journal_to_dict(journal: JournalReport) -> dict[str, Any]:
    names = ("database_bytes", "wal_bytes", "schema", "records", "pending", "unrestored", "contents", "backlog")
    problem = journal.problem
    found = None if problem is None else {"error_code": problem.code, "error": problem.message}
    return {name: getattr(journal, name) for name in names} | {"problem": found}


def _journal_checks(journal: JournalReport) -> Iterator[Check]:
    size = amount(journal.database_bytes + journal.wal_bytes, "byte")
    text = f"{amount(journal.records, 'record')}, schema {journal.schema}, {size}"
    yield Check(name="journal", state="ok", text=text)
    if journal.pending:
        text = f"{journal.pending} changes that the next opening completes or undoes"
        yield Check(name="pending", state="note", text=text)
    if journal.unrestored:
        text = f"{journal.unrestored} changes were lost in a power cut and are not restored yet; 'filetools status' lists them"
        yield Check(name="files", state="warning", text=text)
    added = {row.place for row in journal.mirrors}
    for mirror, behind in journal.backlog.items():
        text = f"{mirror}: lacks {amount(behind, 'path')}; they are copied while the root is open with this mirror"
        remedy = "filetools sync" if mirror in added else "filetools sync --mirror DIR, or filetools mirror remove DIR"
        yield Check(name="backlog", state="warning", text=text, remedy=remedy)


def _print_checks(checks: Iterable[Check]) -> None:
    rows: list[tuple[Text, str, Text]] = []
    for check in checks:
        rows.append((styled(_SIGNS[check.state]), check.name, styled(printable(check.text))))
        if check.remedy is not None:
            rows.append((styled(), "", styled((f"→ {printable(check.remedy)}", "cyan"))))
    print_table(rows, "", "", "")


def _show_settings(runner: CommandRunner) -> None:
    values, sources = runner.settings()
    plain = to_builtins(values)
    if runner.options.as_json:
        print_json({"success": True, "data": {name: {"value": plain[name], "source": sources[name]} for name in plain}})
        return
    rows = [(name, Text(sources[name], "dim"), Text(printable(json.dumps(value)))) for name, value in plain.items()]
    print_table(rows, "setting", "source", "value")
    own = own_directory(runner.workplace.root, runner.options.state_dir)
    print_note(f"Settings for every root: {user_directory() / SETTINGS_FILE}")
    if own is not None:
        print_note(f"Settings for this root: {own / SETTINGS_FILE}")
