"""Parameters shared by several commands."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

import click

from filetools.errors import FileToolsError, InvalidArgumentError
from filetools.facade.facade import FileToolsFacade

ENTRY: Final = click.Path(readable=False)
"""A path of the workspace: the call reports an entry that cannot be read."""
path_argument = click.argument("path", type=ENTRY, help="File, relative to the working folder.")
expected_version_option = click.option(
    "--expected-version",
    metavar="VERSION",
    help="Refuse with exit code 3 unless the file is at this version.",
)
force_option = click.option("-f", "--force", is_flag=True, help="Replace a file at the destination.")
run_option = click.option("--run", metavar="ID", help="Compare with the checkpoint before this run.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Only report what would happen.")


_AGO: Final = re.compile(r"(\d+)\s*([smhd])(?:\s+ago)?")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
since_option = click.option("--since", metavar="WHEN", help="A number in the log, 12:30, 2026-11-20, or 10m ago.")
until_option = click.option("--until", metavar="WHEN", help="A number in the log, 12:30, 2026-11-20, or 10m ago.")


def time_or_number(given: str | None) -> int | datetime | None:
    """Parse a number in the log or a time.

    Raises:
        InvalidArgumentError: It is neither.
    """
    if given is None or given.isdecimal():
        return None if given is None else int(given)
    now = datetime.now().astimezone()
    try:
        if ago := _AGO.fullmatch(given):
            return now - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
        if _CLOCK.fullmatch(given):
            given = f"{now:%Y-%m-%d} {given.zfill(5)}"
        return datetime.fromisoformat(given).astimezone()
    except (ValueError, OverflowError) as exc:
        raise InvalidArgumentError(
            f"{given!r} is neither a number in the log nor a time such as 12:30, 2026-11-20 or 10m ago"
        ) from exc


async def is_folder(files: FileToolsFacade, path: str) -> bool:
    """Return True if a path is a folder."""
    try:
        return (await files.file_info(path)).type == "directory"
    except FileToolsError:
        return False  # the next call reports the error
