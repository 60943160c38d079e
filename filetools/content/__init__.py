"""What the bytes of a file are: kind, encoding, line ends, facts; parts of large files; cursors of pages."""

from filetools.content.byte_source import ByteSource, MemorySource
from filetools.content.facts import ContentFacts, FactsCache, describe, inspect, version_of
from filetools.content.formats import TextFormat, decode, encode, format_as, format_named
from filetools.content.kind import SAMPLE_BYTES, ContentKind, sniff
from filetools.content.line_index import LineIndex, LineIndexCache
from filetools.content.lines import count_lines, newline_of
from filetools.content.pages import CursorValue, decode_cursor, encode_cursor
from filetools.content.ranges import read_byte_range, read_text_range
from filetools.content.window import Window
from filetools.content.windows import read_lines

__all__ = [
    "SAMPLE_BYTES",
    "ByteSource",
    "ContentFacts",
    "ContentKind",
    "CursorValue",
    "FactsCache",
    "LineIndex",
    "LineIndexCache",
    "MemorySource",
    "TextFormat",
    "Window",
    "count_lines",
    "decode",
    "decode_cursor",
    "describe",
    "encode",
    "encode_cursor",
    "format_as",
    "format_named",
    "inspect",
    "newline_of",
    "read_byte_range",
    "read_lines",
    "read_text_range",
    "sniff",
    "version_of",
]
