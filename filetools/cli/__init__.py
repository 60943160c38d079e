"""The command line: arguments, terminal text, progress bars, exit codes. It translates, and decides nothing."""

from filetools.distribution import require_extra

require_extra("cli", "filetools.cli", "typer", "rich", "platformdirs")

from filetools.cli.app import main  # noqa: E402 - without the extra nothing below can be imported

__all__ = ["main"]
