"""The consoles of rich that print to standard output and error, where something is drawn."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console

from filetools.cli.terminal import leave_quietly


class Terminal(Console):
    """A console that prints what it gets as it is, and ends the process when nobody reads it any more."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """End quietly; rich itself would end with exit code 1."""
        leave_quietly()


class Errors(Terminal):
    """The console of standard error; what was printed before it stands before it where both go to one place."""

    def __init__(self) -> None:
        super().__init__(stderr=True)

    def print(self, *parts: Any, **options: Any) -> None:
        """Print after all that waits to be written to standard output."""
        sys.stdout.flush()
        super().print(*parts, **options)
