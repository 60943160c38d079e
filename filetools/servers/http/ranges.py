"""One range of bytes of a file (RFC 9110, section 14)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from fastapi import Request

from filetools.servers.http.conditions import etag
from filetools.servers.http.problems import Refusal

# Not \d, which takes digits of other scripts, too; so few of them that the numbers stay small.
_ONE_RANGE: Final = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """Which bytes are sent."""

    offset: int
    count: int
    size: int
    """Of the whole file."""

    @property
    def content_range(self) -> str:
        """As the header tells it."""
        return f"bytes {self.offset}-{self.offset + self.count - 1}/{self.size}"


def asked_part(request: Request, version: str, size: int) -> Part | None:
    """Return the part that a request asks for; None for the whole, which is also what a range that we do not know means.

    Raises:
        Refusal: 416, the file has no such bytes.
    """
    text = request.headers.get("range")
    if text is None or request.headers.get("if-range", etag(version)).strip() != etag(version):
        return None
    match = _ONE_RANGE.fullmatch(text)
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        count = min(int(match[2]), size)
        return _within(size - count, size, size)
    first, last = int(match[1]), int(match[2]) if match[2] else size - 1
    if match[2] and last < first:
        return None
    return _within(first, min(last + 1, size), size)


def _within(first: int, end: int, size: int) -> Part:
    if first >= end:
        raise Refusal(416, "RANGE_NOT_SATISFIABLE", f"The file has {size} bytes", {"Content-Range": f"bytes */{size}"})
    return Part(first, end - first, size)
