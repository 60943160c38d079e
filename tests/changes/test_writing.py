"""Decisions about whole texts."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import pytest
from msgspec.structs import replace

from filetools.changes.decision import PutDecision
from filetools.changes.knowledge import Knowledge, UnsavedText
from filetools.changes.writing import (
    WriteRequest,
    decide_append,
    decide_write,
)  # fmt: skip
from filetools.content.editing.text_edits import TextEdit
from filetools.content.ends import ends_like
from filetools.content.version import version_of
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor
from filetools.settings import Settings
from tests.changes.trees import Entry, Seen, refusal_of, seen_of, tree_of

AGENT: Final = Actor(kind="agent", id="a")
NOBODY: Final = Knowledge(actor=AGENT)
SETTINGS: Final = Settings(max_write_bytes=1000)
OLD: Final = b"one\ntwo\nthree\nfour\nfive\n"
SEEN: Final = seen_of(
    tree_of({"a.txt": OLD, "d": None, "w.txt": b"one\r\ntwo\r\n", "m.txt": b"\xef\xbb\xbfone\r\ntwo\n"})
    | {"link": Entry("symlink", b"a.txt", None), "pipe": Entry("other", None, None), "b": Entry("file", b"\0", 0o755)}
)


def knows(*contents: bytes, encoding: str | None = None, is_whole: bool = True) -> Knowledge:
    """Return what an agent knows that has read some versions, one after the other."""
    rows = [
        SeenVersion(version=version_of(each), base=version_of(each), encoding=encoding, is_whole=is_whole)
        for each in contents
    ]
    return Knowledge(actor=AGENT, rows=rows)


def seen_with(path: str, content: bytes, *kept: bytes) -> Seen:
    return seen_of(tree_of({path: content}), kept=kept)


def write(seen: Seen, path: str, content: str | bytes, knowledge: Knowledge = NOBODY, **options: Any) -> PutDecision:
    new = WriteRequest(content=content, **options)
    return decide_write(seen.at(path), new=new, knowledge=replace(knowledge, kept=seen.kept), settings=SETTINGS)


REFUSED: Final[dict[str, tuple[str, str, str | bytes, Knowledge, dict[str, Any]]]] = {
    "a folder": ("IS_A_DIRECTORY", "d", "x", NOBODY, {}),
    "a link": ("SYMLINK_NOT_ALLOWED", "link", "x", NOBODY, {}),
    "a pipe": ("NOT_A_REGULAR_FILE", "pipe", "x", NOBODY, {}),
    "too large": ("FILE_TOO_LARGE", "n", "x" * 1001, NOBODY, {}),
    "no such encoding": ("INVALID_ARGUMENT", "n", "x", NOBODY, {"encoding": "klingon"}),
    "no such character": ("ENCODING_ERROR", "n", "\u20ac", NOBODY, {"encoding": "latin-1"}),
    "cut base64": ("ENCODING_ERROR", "n", "YQ=", NOBODY, {"encoding": "base64"}),
    "not a version": ("INVALID_ARGUMENT", "a.txt", "x", NOBODY, {"expected_version": "newest"}),
    "another version": ("VERSION_MISMATCH", "a.txt", "x", NOBODY, {"expected_version": version_of(b"x")}),
    "a missing version": ("VERSION_MISMATCH", "n", "x", NOBODY, {"expected_version": version_of(b"x")}),
    "an unknown version": (
        "VERSION_MISMATCH", "a.txt", "x", NOBODY, {"expected_version": "0" * 64, "on_stale": "merge"},
    ),
    "no version": ("VERSION_MISMATCH", "a.txt", "x", NOBODY, {"require_version": True}),
    "not read": ("VERSION_MISMATCH", "a.txt", "x", NOBODY, {"require_read": True}),
    "read in part": (
        "VERSION_MISMATCH", "a.txt", "x", knows(OLD, is_whole=False), {"expected_version": version_of(OLD)},
    ),
    "text that is not kept": ("VERSION_MISMATCH", "a.txt", "x", knows(b"gone"), {}),
    "deleted since": ("EDIT_CONFLICT", "n", "x", knows(OLD), {}),
    "binary by now": ("EDIT_CONFLICT", "b", "x", knows(OLD), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_write_is_refused(case: str) -> None:
    code, path, content, knowledge, options = REFUSED[case]
    seen = replace(SEEN, kept={version_of(OLD): OLD}.get)
    assert refusal_of(lambda: write(seen, path, content, knowledge, **options)).code == code


def test_an_overlap_is_refused_with_both_sides() -> None:
    seen = seen_with("a.txt", OLD.replace(b"two", b"theirs"), OLD)
    refusal = refusal_of(lambda: write(seen, "a.txt", OLD.decode().replace("two", "mine"), knows(OLD)))
    details = refusal.details
    assert refusal.code == "EDIT_CONFLICT"
    assert details["conflicts"] == [{"base": "two\n", "current": "theirs\n", "yours": "mine\n", "line": 2}]
    assert details["base_version"] == version_of(OLD)
    assert details["current_version"] == version_of(OLD.replace(b"two", b"theirs"))
    assert "-two\n+theirs\n" in details["diff"]


def test_a_stale_version_is_refused_with_what_has_changed_since() -> None:
    seen = seen_with("a.txt", OLD.replace(b"two", b"theirs"), OLD)
    details = refusal_of(lambda: write(seen, "a.txt", "x", knows(OLD), expected_version=version_of(OLD))).details
    assert details["expected_version"] == version_of(OLD)
    assert "-two\n+theirs\n" in details["diff"]


def test_a_refusal_names_the_version_that_would_have_been_taken() -> None:
    now = replace(SEEN.at("a.txt"), unsaved=UnsavedText(version=version_of(b"typed"), content=b"typed"))
    new = WriteRequest(content="x", expected_version=version_of(b"typed"))
    decide = partial(decide_append, now, new=new, knowledge=NOBODY, settings=Settings())
    assert refusal_of(decide).details["current_version"] == now.version


def test_changes_to_other_lines_are_merged() -> None:
    theirs = OLD.replace(b"one", b"ONE")
    decided = write(seen_with("a.txt", theirs, OLD), "a.txt", OLD.decode().replace("five", "FIVE"), knows(OLD))
    assert decided.content == b"ONE\ntwo\nthree\nfour\nFIVE\n"
    answer = decided
    assert (answer.is_merged, answer.sent) == (True, OLD.replace(b"five", b"FIVE"))
    assert [hunk["lines"] for hunk in answer.foreign] == [["-one", "+ONE"]]


def test_a_named_older_version_is_merged_if_asked() -> None:
    theirs, mine = OLD.replace(b"one", b"ONE"), OLD.decode().replace("five", "FIVE")
    known = replace(NOBODY, had=lambda: [version_of(OLD)])
    expected = version_of(OLD).removeprefix("sha256:")[:12]
    seen = seen_with("a.txt", theirs, OLD)
    assert write(seen, "a.txt", mine, known, expected_version=expected, on_stale="merge").content == (
        b"ONE\ntwo\nthree\nfour\nFIVE\n"
    )


def test_a_version_that_was_only_reported_stands_for_the_text_that_its_writer_knows() -> None:
    theirs = OLD.replace(b"one", b"ONE")
    row = SeenVersion(version=version_of(theirs), base=version_of(OLD))
    seen = seen_with("a.txt", theirs, OLD)
    decided = write(
        seen, "a.txt", OLD.decode() + "six\n", Knowledge(actor=AGENT, rows=[row]), expected_version=row.version
    )
    assert decided.content == theirs + b"six\n"


@pytest.mark.parametrize(("first", "new", "last"), [("\r",) * 3, ("\r\n", "\r\n", "\n"), ("\r\n",) * 3, ("\n",) * 3])
def test_each_line_keeps_its_end_and_a_new_one_takes_its_neighbours(first: str, new: str, last: str) -> None:
    assert ends_like("one\nnew\ntwo\n", f"one{first}two{last}") == f"one{first}new{new}two{last}"


FORMS: Final[dict[str, tuple[str, str | bytes, dict[str, Any], bytes]]] = {
    "crlf is kept": ("w.txt", "uno\ntwo\n", {}, b"uno\r\ntwo\r\n"),
    "crlf is not kept if ends are exact": ("w.txt", "uno\ntwo\n", {"newline": "exact"}, b"uno\ntwo\n"),
    "each line keeps its end": ("m.txt", "uno\ntwo\n", {"newline": "keep"}, b"\xef\xbb\xbfuno\r\ntwo\n"),
    "a mark is not doubled": ("m.txt", "\ufeffx", {}, b"\xef\xbb\xbfx"),
    "an encoding": ("n", "\xe4", {"encoding": "latin-1"}, b"\xe4"),
    "base64": ("n", "AAE=", {"encoding": "base64"}, b"\0\1"),
    "bytes": ("w.txt", b"a\nb", {}, b"a\nb"),
}


@pytest.mark.parametrize("case", FORMS)
def test_a_text_takes_the_form_of_its_file(case: str) -> None:
    path, content, options, expected = FORMS[case]
    assert write(SEEN, path, content, **options).content == expected


def test_a_text_is_written_in_the_encoding_that_its_writer_read_it_in() -> None:
    content = "\xe4\xf6".encode("utf-16-le")
    decided = write(seen_with("a.txt", content), "a.txt", "\xe4", knows(content, encoding="utf-16-le"))
    assert (decided.content, decided.encoding) == ("\xe4".encode("utf-16-le"), "utf-16-le")


def test_bytes_replace_a_file_whatever_their_writer_knows() -> None:
    new = WriteRequest(content=b"\0")
    plain = decide_write(SEEN.at("a.txt"), new=new, knowledge=knows(b"gone"), settings=SETTINGS, is_forced=True)
    assert (plain.content, plain.sent) == (b"\0", b"\0")


def test_an_append_to_another_version_is_refused() -> None:
    new = WriteRequest(content="x", expected_version="0" * 12)
    refusal = refusal_of(lambda: decide_append(SEEN.at("a.txt"), new=new, knowledge=NOBODY, settings=SETTINGS))
    assert refusal.code == "VERSION_MISMATCH"


def test_an_append_goes_to_the_end_in_the_form_of_the_file() -> None:
    decided = decide_append(
        SEEN.at("w.txt"), new=WriteRequest(content="x\n"), knowledge=knows(b"gone"), settings=SETTINGS
    )
    answer = decided
    assert decided.content == b"one\r\ntwo\r\nx\r\n"
    assert (answer.added_bytes, answer.newline, answer.edits) == (3, "crlf", (TextEdit(10, 10, "x\r\n"),))
