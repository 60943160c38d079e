"""Parameters that several commands have in common."""

from __future__ import annotations

from typing import Annotated

import typer

PathArgument = Annotated[str, typer.Argument(metavar="PATH", help="File, relative to the working folder.")]
ExpectedVersion = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="Refuse with exit code 3 unless the file is at this version."),
]
Force = Annotated[bool, typer.Option("-f", "--force", help="Replace a file that stands at the destination.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")]
