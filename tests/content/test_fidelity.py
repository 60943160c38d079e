from __future__ import annotations

import codecs
from collections.abc import Callable

import pytest

from filetools.content.differences.merging import merge_bytes
from filetools.content.editing.edits import Edit, apply_edits, edited_bytes, insert_lines
from filetools.content.formats import TextFormat
from filetools.content.patching.patches import apply_file_patch, parse_patch
from filetools.errors import EncodingError

Operation = Callable[[bytes, TextFormat, str, str], bytes]
"""Changes the bytes of a file from one text to another."""

FORMATS = {
    "utf-8": (TextFormat(encoding="utf-8", bom=b""), "é日\U0001f600"),
    "utf-8 with BOM": (TextFormat(encoding="utf-8", bom=codecs.BOM_UTF8), "é日\U0001f600"),
    "utf-16-le with BOM": (TextFormat(encoding="utf-16-le", bom=codecs.BOM_UTF16_LE), "é日\U0001f600"),
    "utf-16-be with BOM": (TextFormat(encoding="utf-16-be", bom=codecs.BOM_UTF16_BE), "é日\U0001f600"),
    "latin-1": (TextFormat(encoding="latin-1", bom=b""), "éü\x85"),
    "cp1252": (TextFormat(encoding="cp1252", bom=b""), "é€"),
    "shift-jis": (TextFormat(encoding="shift_jis", bom=b""), "日本ソ"),
    "cp932": (TextFormat(encoding="cp932", bom=b""), "日本ソ"),
    "gb18030": (TextFormat(encoding="gb18030", bom=b""), "中é\U0001f600"),
    "euc-kr": (TextFormat(encoding="euc_kr", bom=b""), "한글"),
}
ENDS = {"lf": ["\n"] * 6, "crlf": ["\r\n"] * 6, "cr": ["\r"] * 6, "mixed": ["\n", "\r\n", "\r\n", "\n", "\r\n", "\n"]}


def edited(content: bytes, text_format: TextFormat, old: str, new: str) -> bytes:
    edits = [Edit(old=f"{old}\nlast", new=f"{new}\nlast")]
    return edited_bytes(content, text_format, lambda text: apply_edits(text, edits), path="f").content


def replaced_everywhere(content: bytes, text_format: TextFormat, old: str, new: str) -> bytes:
    edits = [Edit(old=old, new=new, replace_all=True)]
    return edited_bytes(content, text_format, lambda text: apply_edits(text, edits), path="f").content


def patched_as_codex(content: bytes, text_format: TextFormat, old: str, new: str) -> bytes:
    text = f"*** Begin Patch\n*** Update File: f\n@@ first\n one\n-{old}\n+{new}\n last\n*** End Patch\n"
    return apply_file_patch(content, text_format, parse_patch(text)[0], path="f").content


def patched_as_unified(content: bytes, text_format: TextFormat, old: str, new: str) -> bytes:
    text = f"--- a/f\n+++ b/f\n@@ -4,2 +4,2 @@\n one\n-{old}\n+{new}\n"
    return apply_file_patch(content, text_format, parse_patch(text)[0], path="f").content


def merged(content: bytes, text_format: TextFormat, old: str, new: str) -> bytes:
    text = content[len(text_format.bom) :].decode(text_format.encoding)
    base = text.replace("first", "1st")
    return (
        merge_bytes(base, content, base.replace(old, new), text_format=text_format, path="f", by_words=False).content
        or b""
    )


def merged_with_an_answer_in_lf(content: bytes, text_format: TextFormat, old: str, new: str) -> bytes:
    text = content[len(text_format.bom) :].decode(text_format.encoding)
    base = text.replace("first", "1st")
    lf = base.replace("\r\n", "\n").replace("\r", "\n")
    return (
        merge_bytes(base, content, lf.replace(old, new), text_format=text_format, path="f", by_words=False).content
        or b""
    )


OPERATIONS: list[Operation] = [
    edited,
    replaced_everywhere,
    patched_as_codex,
    patched_as_unified,
    merged,
    merged_with_an_answer_in_lf,
]


def lines_of(sample: str, ends: list[str], has_final_newline: bool) -> str:
    parts = [f"first {sample}", sample, "", "one", f"{sample} here", f"last {sample}"]
    parts[0] = "first"
    text = "".join(part + end for part, end in zip(parts, ends, strict=True))
    return text if has_final_newline else text[: -len(ends[-1])]


@pytest.mark.parametrize("has_final_newline", [True, False], ids=["final newline", "no final newline"])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_bytes_outside_the_touched_span_stay(
    operation: Operation, name: str, ends: str, has_final_newline: bool
) -> None:
    text_format, sample = FORMATS[name]
    # "last" begins the last line in every row, so that an edit can name two lines.
    text = lines_of(sample, ENDS[ends], has_final_newline)
    old, new = f"{sample} here", f"{sample} there"
    if operation in (patched_as_codex, patched_as_unified):
        text = text.replace(f"last {sample}", "last")
    content = text_format.bom + text.encode(text_format.encoding)
    assert operation(content, text_format, old, new) == text_format.bom + text.replace(old, new).encode(
        text_format.encoding
    )


@pytest.mark.parametrize("ends", ["lf", "crlf", "cr"])
@pytest.mark.parametrize("name", FORMATS)
def test_inserted_lines_leave_all_other_bytes(name: str, ends: str) -> None:
    text_format, sample = FORMATS[name]
    text = lines_of(sample, ENDS[ends], has_final_newline=False)
    end = ENDS[ends][0]
    content = text_format.bom + text.encode(text_format.encoding)
    insert = lambda text: insert_lines(text, 1, f"{sample}\nx\n")  # noqa: E731
    made = edited_bytes(content, text_format, insert, path="f").content
    expected = text.replace(f"first{end}", f"first{end}{sample}{end}x{end}", 1)
    assert made == text_format.bom + expected.encode(text_format.encoding)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "cp932", "euc_kr"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_a_character_the_encoding_lacks_is_named(operation: Operation, encoding: str) -> None:
    text_format = TextFormat(encoding=encoding, bom=b"")
    content = b"first\nx\n\none\nold here\nlast\n"
    with pytest.raises(EncodingError) as caught:
        operation(content, text_format, "old here", "new \U0001f600")
    found = caught.value.details
    assert (found["character"], found["line"], found["column"], found["position"]) == ("U+1F600", 5, 5, 17)


def test_bytes_that_do_not_round_trip_stay_beside_an_edit() -> None:
    head = b"\xfa\x54\xee\xf9 "
    content = head + b"old\n" + head
    assert head.decode("cp932").encode("cp932") != head
    found = replaced_everywhere(content, TextFormat(encoding="cp932", bom=b""), "old", "new")
    assert found == head + b"new\n" + head
