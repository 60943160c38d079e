"""What the bytes of a file are and become: kind, encoding, facts, parts; differences, merges, edits, patches; cursors."""

from typing import TYPE_CHECKING

from filetools.deferred import deferred

if TYPE_CHECKING:
    from filetools.content.byte_source import ByteSource, MemorySource
    from filetools.content.diff import (
        Hunk,
        PatchHunk,
        diff_lines,
        hunks_of,
        minimal_edits,
        patch_of_edits,
        refined,
        structured_patch,
        unified_diff,
    )
    from filetools.content.edits import (
        BytesOutcome,
        Edit,
        EditOutcome,
        apply_edits,
        apply_edits_to_bytes,
        insert_lines,
        insert_lines_in_bytes,
        joined,
        spliced,
    )
    from filetools.content.elision import left_out
    from filetools.content.ends import ends_like, split_lines, with_ends
    from filetools.content.facts import ContentFacts, FactsCache, describe, inspect, text_of
    from filetools.content.file_patch import FileHunk, FilePatch, PatchLine
    from filetools.content.formats import UTF8, TextFormat, decode, encode, format_as, format_named
    from filetools.content.kind import SAMPLE_BYTES, ContentKind, sniff
    from filetools.content.line_index import LineIndex, LineIndexCache
    from filetools.content.lines import count_lines, newline_of
    from filetools.content.merging import BytesMerge, Conflict, MergeResult, merge, merge_bytes, merge_keeping
    from filetools.content.offsets import is_exact
    from filetools.content.pages import CursorValue, decode_cursor, encode_cursor
    from filetools.content.paging import OutOfRangeError, PagedText, TextWindow, WindowMode
    from filetools.content.patches import apply_file_patch, parse_patch
    from filetools.content.ranges import read_byte_range, read_text_range
    from filetools.content.text_edits import TextEdit, apply_text_edits, composed, in_utf16, splice, tally_after
    from filetools.content.transforming import inverse, moved, transform
    from filetools.content.version import version_of
    from filetools.content.whole import is_one_character, whole_start
    from filetools.content.window import Window
    from filetools.content.windows import read_lines
    from filetools.content.wire import from_wire, to_wire, wire_text
else:
    __getattr__, __dir__ = deferred(
        __name__,
        {
            "filetools.content.byte_source": "ByteSource, MemorySource",
            "filetools.content.diff": "Hunk, PatchHunk, diff_lines, hunks_of, minimal_edits, "
            "patch_of_edits, refined, structured_patch, unified_diff",
            "filetools.content.edits": "BytesOutcome, Edit, EditOutcome, apply_edits, "
            "apply_edits_to_bytes, insert_lines, "
            "insert_lines_in_bytes, joined, spliced",
            "filetools.content.elision": "left_out",
            "filetools.content.ends": "ends_like, split_lines, with_ends",
            "filetools.content.facts": "ContentFacts, FactsCache, describe, inspect, text_of",
            "filetools.content.file_patch": "FileHunk, FilePatch, PatchLine",
            "filetools.content.formats": "UTF8, TextFormat, decode, encode, format_as, format_named",
            "filetools.content.kind": "SAMPLE_BYTES, ContentKind, sniff",
            "filetools.content.line_index": "LineIndex, LineIndexCache",
            "filetools.content.lines": "count_lines, newline_of",
            "filetools.content.merging": "BytesMerge, Conflict, MergeResult, merge, merge_bytes, merge_keeping",
            "filetools.content.offsets": "is_exact",
            "filetools.content.pages": "CursorValue, decode_cursor, encode_cursor",
            "filetools.content.paging": "OutOfRangeError, PagedText, TextWindow, WindowMode",
            "filetools.content.patches": "apply_file_patch, parse_patch",
            "filetools.content.ranges": "read_byte_range, read_text_range",
            "filetools.content.text_edits": "TextEdit, apply_text_edits, composed, in_utf16, splice, tally_after",
            "filetools.content.transforming": "inverse, moved, transform",
            "filetools.content.version": "version_of",
            "filetools.content.whole": "is_one_character, whole_start",
            "filetools.content.window": "Window",
            "filetools.content.windows": "read_lines",
            "filetools.content.wire": "from_wire, to_wire, wire_text",
        },
    )

__all__ = [
    "SAMPLE_BYTES",
    "UTF8",
    "ByteSource",
    "BytesMerge",
    "BytesOutcome",
    "Conflict",
    "ContentFacts",
    "ContentKind",
    "CursorValue",
    "Edit",
    "EditOutcome",
    "FactsCache",
    "FileHunk",
    "FilePatch",
    "Hunk",
    "LineIndex",
    "LineIndexCache",
    "MemorySource",
    "MergeResult",
    "OutOfRangeError",
    "PagedText",
    "PatchHunk",
    "PatchLine",
    "TextEdit",
    "TextFormat",
    "TextWindow",
    "Window",
    "WindowMode",
    "apply_edits",
    "apply_edits_to_bytes",
    "apply_file_patch",
    "apply_text_edits",
    "composed",
    "count_lines",
    "decode",
    "decode_cursor",
    "describe",
    "diff_lines",
    "encode",
    "encode_cursor",
    "ends_like",
    "format_as",
    "format_named",
    "from_wire",
    "hunks_of",
    "in_utf16",
    "insert_lines",
    "insert_lines_in_bytes",
    "inspect",
    "inverse",
    "is_exact",
    "is_one_character",
    "joined",
    "left_out",
    "merge",
    "merge_bytes",
    "merge_keeping",
    "minimal_edits",
    "moved",
    "newline_of",
    "parse_patch",
    "patch_of_edits",
    "read_byte_range",
    "read_lines",
    "read_text_range",
    "refined",
    "sniff",
    "splice",
    "spliced",
    "split_lines",
    "structured_patch",
    "tally_after",
    "text_of",
    "to_wire",
    "transform",
    "unified_diff",
    "version_of",
    "whole_start",
    "wire_text",
    "with_ends",
]
