"""Changes that a function picks out of the text that stands there, told what its actor knows of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from filetools.content.edits import BytesOutcome, EditOutcome, spliced
from filetools.content.facts import text_of
from filetools.content.formats import TextFormat, decode
from filetools.content.text_edits import TextEdit, apply_text_edits
from filetools.facade.editing import TextChange
from filetools.facade.look import Look
from filetools.facade.parts import Parts
from filetools.facade.preconditions import known_text, require_seen
from filetools.facade.requests import WriteRequest
from filetools.facade.steps.decision import Decision
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath

Compute: TypeAlias = Callable[[str, str | None], Sequence[TextEdit]]
"""Gets the text that stands there, and the one that its actor knows, if others have changed it since; returns
replacements in order, not overlapping."""


class ComputedChange(TextChange):
    """A change of the replacements that a function returns. Used once.

    Args:
        path: The file.
        compute: The function; called under the file's lock, maybe several times.
        actor: Whose change it is.
        require_read: Whether the actor must have read or written all of the file.
    """

    def __init__(self, path: WorkspacePath, compute: Compute, actor: Actor, *, require_read: bool) -> None:
        super().__init__(path, self._computed, actor)
        self._compute = compute
        self._require_read = require_read
        self._known: str | None = None

    def decide(self, parts: Parts, seen: Look) -> Decision:
        """Apply the change to what stands there.

        Raises:
            VersionMismatchError: The actor has not read it, or what it knows is no longer kept.
        """
        if self._require_read:
            request = WriteRequest(content="", require_read=True)
            require_seen(parts, seen, request, self._actor)
        base = parts.tracker.base(self._actor, seen.key)
        is_news = base is not None and base.base != seen.version
        self._known = (
            text_of(known_text(parts, seen, base.base), name=self.path) if base is not None and is_news else None
        )
        return super().decide(parts, seen)

    def _computed(self, content: bytes, text_format: TextFormat) -> BytesOutcome:
        text = decode(content, text_format, path=self.path)
        spans = tuple(self._compute(text, self._known))
        outcome = EditOutcome(text=apply_text_edits(text, spans), spans=spans, counts=(len(spans),))
        return spliced(content, text, text_format, outcome, path=self.path)
