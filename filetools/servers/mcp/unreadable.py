"""Answers to what is no message, so that whoever sent it does not wait for ever (JSON-RPC 2.0, section 5.1)."""

from __future__ import annotations

import json

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, RequestId
from pydantic import ValidationError


def answer_to(line: bytes, error: ValidationError) -> JSONRPCError:
    """Return the answer to a line that is no message: with the id of its request, as far as that can be made out.

    Args:
        line: As it came.
        error: What is wrong with it.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    is_json = first["type"] != "json_invalid"
    message = "This is no JSON-RPC message" if is_json else f"This is no JSON: {first['msg']}"
    code = INVALID_REQUEST if is_json else PARSE_ERROR
    return JSONRPCError(jsonrpc="2.0", id=_id_in(line), error=ErrorData(code=code, message=message))


def _id_in(line: bytes) -> RequestId | None:
    """The id of the request that was meant; None if it cannot be told, or an answer was meant, which gets none by its id."""
    try:
        # More lenient than the reader of messages: half a pair of surrogates, or a broken byte, does not hide the id.
        plain: object = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    found: object = plain.get("id") if isinstance(plain, dict) and "method" in plain else None
    return found if isinstance(found, str) or (isinstance(found, int) and not isinstance(found, bool)) else None
