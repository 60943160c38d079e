"""Tells the audience what happens: headings, sentences, and the texts that it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from rich.rule import Rule
from rich.text import Text

from filetools.cli.terminal import STDOUT, print_beside
from filetools.models.records import ChangeRecord

INDENT: Final = 2
"""Where sentences begin."""
_TEXT_INDENT: Final = 4
_STYLES: Final = {"+": "green", "-": "red"}


class Narrator:
    """Prints to standard output; lives as long as a demo."""

    def heading(self, title: str) -> None:
        """Announce a scene."""
        STDOUT.print()
        STDOUT.print(Rule(Text(title, style="bold"), align="left", style="dim"), soft_wrap=False)

    def say(self, text: str) -> None:
        """Tell what happened."""
        print_beside(Text(), text, start=INDENT)

    def show(self, *texts: str) -> None:
        """Show lines of a file; what begins with a plus came in, with a minus it went."""
        for text in texts:
            STDOUT.print(Text(" " * _TEXT_INDENT + text.rstrip("\n"), style=_STYLES.get(text[:1], "cyan")))

    def count(self, records: Sequence[ChangeRecord]) -> None:
        """Say how many changes the journal has of a scene, and whose they are."""
        if not records:
            return
        by = Counter(record.actor.id for record in records)
        whose = ", ".join(f"{name} {number}" for name, number in sorted(by.items()))
        files = len({record.path for record in records})
        self.note(f"journal: {len(records)} changes of {files} {'file' if files == 1 else 'files'}, by {whose}")

    def note(self, text: str) -> None:
        """Add what is good to know."""
        print_beside(Text(), text, start=INDENT, style="dim")
