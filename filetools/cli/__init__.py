"""The command line: arguments, terminal output, progress bars, exit codes. It makes no decisions of its own."""

from filetools.distribution import require_extra

require_extra("cli", "filetools.cli", "click", "rich")
