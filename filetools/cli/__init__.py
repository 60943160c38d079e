"""The command line: arguments, terminal text, progress bars, exit codes. It translates, and decides nothing."""

from filetools.distribution import require_extra

require_extra("cli", "filetools.cli", "click", "rich")
