"""Parameters that several commands have in common, and what they mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

import typer

from filetools.cli import suggestions
from filetools.errors import InvalidArgumentError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade

_PREFIX: Final = re.compile(r"(?:sha256:)?([0-9a-f]{4,64})")
_MOST_VERSIONS: Final = 1000

PathArgument = Annotated[
    str, typer.Argument(metavar="PATH", help="File, relative to the working folder.", autocompletion=suggestions.paths)
]
ExpectedVersion = Annotated[
    str | None,
    typer.Option(
        metavar="VERSION",
        help="Refuse with exit code 3 unless the file is at this version.",
        autocompletion=suggestions.versions,
    ),
]
Force = Annotated[bool, typer.Option("-f", "--force", help="Replace a file that stands at the destination.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")]


async def whole_version(files: FileToolsFacade, path: str, given: str | None) -> str | None:
    """Return the version that some first digits name; anything else is left to the workspace to judge.

    Raises:
        InvalidArgumentError: The path has no such version, or several.
    """
    match = _PREFIX.fullmatch(given or "")
    if given is None or match is None or len(match[1]) == 64:
        return given
    known = {entry.version for entry in (await files.versions(path, limit=_MOST_VERSIONS)).versions}
    found = [version for version in known if version.startswith(f"sha256:{match[1]}")]
    if len(found) != 1:
        how_many = "no version" if not found else f"{len(found)} versions"
        raise InvalidArgumentError(
            f"{path} has {how_many} beginning with {match[1]!r}", path=path,
            suggested_action="See which there are with versions().",
        )  # fmt: skip
    return found[0]
