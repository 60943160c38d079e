"""`python -m filetools` and the `filetools` command."""

from __future__ import annotations

import sys
from typing import Final

from filetools.distribution import install_command, version_line

NEEDED: Final = ("click", "rich")
"""What the extra `cli` brings; without it the library works, and the command says what to install."""


def main() -> None:
    """Run the command line with the arguments of the process; ends the process with its exit code."""
    if sys.argv[1:] == ["--version"]:
        print(version_line())  # noqa: T201 - the one answer for which no command is loaded
        return
    try:
        from filetools.cli import command
    except ModuleNotFoundError as exc:
        if exc.name is None or exc.name.partition(".")[0] not in NEEDED:
            raise
        print(f"error: the command line needs the package {exc.name!r}", file=sys.stderr)  # noqa: T201 - no console yet
        print(f"hint: {install_command('cli')}", file=sys.stderr)  # noqa: T201 - no console yet
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    command.main()


if __name__ == "__main__":
    main()
