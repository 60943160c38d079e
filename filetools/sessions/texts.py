"""What the messages of a log say: their text, whether it says anything, and a title of one line."""

from __future__ import annotations

import re
from typing import Any, Final

from filetools.content.whole import is_one_character, whole_start

TITLE_CHARACTERS: Final = 80
INTERRUPTED: Final = "[Request interrupted"
_WORDS: Final = frozenset(
    ["y", "n", "k", "g", "ok", "go", "yes", "no", "continue", "proceed", "sure", "okay", "resume"]
)
_COMMAND: Final = re.compile(r"/[a-z][a-z0-9_:.-]*(?=\s|$)", re.IGNORECASE | re.ASCII)
_REMINDERS: Final = re.compile(r"\s*(?:<system-reminder>.*?</system-reminder>\s*)++", re.DOTALL)


def extract_text(content: Any, *, separator: str = "\n\n") -> str:
    """Return the text of a message's content: itself, or its text blocks, by default with empty lines between; else "".

    Blocks that are nothing but reminders, which the program puts in, do not count.
    """
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    texts = (block if isinstance(block, str) else _text(block) for block in blocks)
    return separator.join(text for text in texts if text and not _REMINDERS.fullmatch(text))


def is_trivial(text: str) -> bool:
    """Whether a text says nothing that could be feedback: one character, "continue" and its like, a slash command."""
    text = text.strip()
    return not text or is_one_character(text) or text.lower() in _WORDS or _COMMAND.match(text) is not None


def format_title(text: str) -> str:
    """Return a text as one line of at most 80 characters; what is cut ends with `...`, and no character is cut apart."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARACTERS else f"{whole_start(line, TITLE_CHARACTERS - 3)}..."


def _text(block: Any) -> str:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else ""
