"""Messages as lines of JSON; long texts are encoded piece by piece."""

from __future__ import annotations

import json
import secrets
from typing import Any, Final

from mcp_types import JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter
from pydantic_core import to_json

PIECE_CHARACTERS: Final = 32 * 1024
"""A text that is longer is encoded in pieces of this length."""
FEW: Final = 1 / 16
"""Up to this share of a piece its wide characters are escaped: what they take more than in UTF-8 is little then."""
_PLACE: Final = secrets.token_hex(16)
"""Stands for a long text until its pieces are put there; nobody else has ever seen it."""


def line_of(message: JSONRPCMessage) -> bytes:
    """Return a message as one line, its end included."""
    texts: list[str] = []
    short = _without_long_texts(message, texts) if isinstance(message, JSONRPCResponse) else message
    line = jsonrpc_message_adapter.dump_json(short, by_alias=True, exclude_unset=True)
    parts = line.split(_PLACE.encode()) if texts else [line]
    pieces = [parts[0]]
    for text, part in zip(texts, parts[1:], strict=True):
        pieces += [_encoded(text[start : start + PIECE_CHARACTERS]) for start in range(0, len(text), PIECE_CHARACTERS)]
        pieces.append(part)
    return b"".join((*pieces, b"\n"))


def _without_long_texts(message: JSONRPCResponse, texts: list[str]) -> JSONRPCResponse:
    """Take the long texts out of an answer's content that are not plain ASCII, as those with a footer are.

    For one wide character a whole text takes twice the memory, and both sides go through it character by character once
    more; of pieces only those that have one.
    """
    blocks = message.result.get("content")
    if not isinstance(blocks, list) or not any(map(_is_long, blocks)):
        return message
    content = list(blocks)
    for number, block in enumerate(blocks):
        if _is_long(block):
            texts.append(block["text"])
            content[number] = {**block, "text": _PLACE}
    return message.model_copy(update={"result": {**message.result, "content": content}})


def _is_long(block: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) else None
    return isinstance(text, str) and len(text) > PIECE_CHARACTERS and not text.isascii()


def _encoded(piece: str) -> bytes:
    """Return a piece of a text as JSON has it between quotes.

    Raises:
        PydanticSerializationError: It holds half of a character.
    """
    encoded = to_json(piece)
    if not piece.isascii() and len(piece) - len(piece.encode("ascii", "ignore")) <= len(piece) * FEW:
        # A reader that decodes the line keeps it narrow.
        encoded = json.dumps(piece).encode("ascii")
    return encoded[1:-1]
