"""Where an expression matches in a text; also the program of the process that matches what might take for ever.

This module imports nothing but the standard library, because that process runs it as a script, without site packages:
`re` holds the interpreter while it searches, so that only another process can be stopped.
"""

from __future__ import annotations

import re
import struct
import sys
from array import array
from collections.abc import Callable
from typing import BinaryIO

HEADER = struct.Struct(">QQ??")
"""Bytes of the text that follows, most matches, whether a match may go over several lines, whether all of a line count."""
LENGTH = struct.Struct(">Q")

Search = Callable[[str, int, int], "re.Match[str] | None"]


def find_spans(
    search: Search, text: str, start: int, end: int, *, multiline: bool, most: int, every: bool = False
) -> list[int]:
    """Return where the first match of each line begins and ends, one after the other.

    Args:
        search: Of a compiled expression.
        text: With LF as its only line end.
        start: Where to begin, at the start of a line.
        end: Where to stop, at the end of a line.
        multiline: Whether matches may go over several lines; those do not share lines.
        most: Matches after which to stop.
        every: Whether every match counts that is not empty, and not only the first of a line.
    """
    spans: list[int] = []
    position = start
    while position <= end and len(spans) < 2 * most:
        found = search(text, position, end)
        if found is None:
            break
        first, last = found.span()
        if first == len(text) and text.endswith("\n"):
            break  # what follows the last line end is no line
        if every:
            spans += (first, last) if last > first else ()
            position = max(last, first + 1)
            continue
        spans += (first, last)
        ends_line = multiline and last > first and text[last - 1] == "\n"
        following = text.find("\n", last - 1 if ends_line else last, end)
        position = end + 1 if following < 0 else following + 1
    return spans


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Read flags and an expression, then texts; answer each text with its spans."""
    flags, size = struct.unpack(">IQ", requests.read(12))
    search = re.compile(requests.read(size).decode("utf-8", "surrogatepass"), flags).search
    answers.write(b"+")
    answers.flush()
    while head := requests.read(HEADER.size):
        size, most, multiline, every = HEADER.unpack(head)
        text = requests.read(size).decode("utf-8", "surrogatepass")
        found = find_spans(search, text, 0, len(text), multiline=multiline, most=most, every=every)
        spans = array("Q", found).tobytes()
        answers.write(LENGTH.pack(len(spans)) + spans)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
