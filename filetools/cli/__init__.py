"""The command line: arguments, terminal text, progress bars, exit codes. It translates, and decides nothing."""

from filetools.cli.app import main

__all__ = ["main"]
