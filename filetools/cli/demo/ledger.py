"""What was done in a demo, as those who did it know it: to be compared with what is on disk and in the journal."""

from __future__ import annotations

from dataclasses import dataclass, field

from filetools.cli.demo.marks import mark_of


@dataclass(slots=True)
class Ledger:
    """All edits of one demo."""

    made: set[str] = field(default_factory=set)
    """Marks of every edit that was begun."""
    acknowledged: set[str] = field(default_factory=set)
    """Marks of edits by filetools whose call has returned; these must be on disk."""
    unsaved: set[str] = field(default_factory=set)
    """Marks of edits that went into unsaved text; whether that is saved is its person's business."""
    foreign: dict[str, str] = field(default_factory=dict)
    """Marks of edits by other programs that ended well, and their paths; these must be on disk or kept as a version."""
    retries: int = 0
    """How often an agent was refused because somebody else was faster, and repeated its edit."""
    merged: int = 0
    """Changes that met others' and were put together with them."""
    refused: set[str] = field(default_factory=set)
    """Marks of edits that were refused because they overlapped with others'; these must be nowhere."""
    undone: set[str] = field(default_factory=set)
    """Marks of edits that were taken back; these must be nowhere."""
    missed_by_mirror: set[str] = field(default_factory=set)
    """Marks of edits that were acknowledged while the mirror could not have them."""
    unfinished_at_kill: int = 0
    """Changes committed but not carried out when a process was killed."""
    numbers: dict[str, int] = field(default_factory=dict)

    def begin(self, actor: str) -> str:
        """Return the mark of an actor's next edit."""
        self.numbers[actor] = self.numbers.get(actor, 0) + 1
        mark = mark_of(actor, self.numbers[actor])
        self.made.add(mark)
        return mark
