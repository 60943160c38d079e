"""What an agent answers: the text in its messages of stream-json, and what it counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AgentText:
    """Reads the messages of one run, and lives as long as it; odd ones say nothing.

    Source: what `claude -p --output-format stream-json` prints, with and without `--include-partial-messages`.
    """

    def __init__(self) -> None:
        self.has_answered = False
        """Whether it said anything, or told its result."""
        self.usage: Mapping[str, Any] = {}
        """Its counts of tokens, as it told them."""
        self._is_partial, self._gap = False, ""

    def read(self, message: Mapping[str, Any]) -> str:
        """Return what a message adds to the answer, often nothing; blocks of text have an empty line between them."""
        match message:
            case {"parent_tool_use_id": str()}:  # it is of an agent that this one has started
                return ""
            case {"type": "stream_event", "event": {"type": "content_block_start"}}:
                self._end_block()
            case {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": str(text)}}}:
                self._is_partial = True
                return self._added(text)
            case {"type": "assistant", "message": {"content": list(blocks)}} if not self._is_partial:
                return "".join(map(self._block, blocks))
            case {"type": "result"}:
                return self._result(message)
        return ""

    def _block(self, block: object) -> str:
        self._end_block()
        match block:
            case {"type": "text", "text": str(text)}:
                return self._added(text)
        return ""

    def _result(self, result: Mapping[str, Any]) -> str:
        usage, text = result.get("usage"), result.get("result")
        self.usage = usage if isinstance(usage, dict) else {}
        has_said, self.has_answered = self.has_answered, True
        return text if isinstance(text, str) and not has_said else ""

    def _end_block(self) -> None:
        self._gap = "\n\n" if self.has_answered else ""

    def _added(self, text: str) -> str:
        gap, self._gap, self.has_answered = self._gap, "", True
        return gap + text
