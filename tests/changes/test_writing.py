"""Decisions about whole texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from msgspec.structs import replace

from filetools.changes.decision import KnownPath, PutDecision
from filetools.changes.steps.look import Look
from filetools.changes.writing import WriteRequest, decide_append, decide_write
from filetools.content.ends import ends_like
from filetools.content.formats import UTF8
from filetools.content.version import version_of
from filetools.editors.documents import OpenText
from filetools.errors import FileToolsError
from filetools.journal.documents import Document
from filetools.journal.journal import View
from filetools.journal.seen_versions import SeenVersion
from filetools.models.records import Actor
from filetools.paths.workspace_path import WorkspacePath
from filetools.settings import Settings
from filetools.stores.store import FileStat

AGENT: Final = Actor(kind="agent", id="a")
SETTINGS: Final = Settings(max_write_bytes=1000)
OLD: Final = b"one\ntwo\nthree\nfour\nfive\n"
FILES: Final = {"a.txt": OLD, "w.txt": b"one\r\ntwo\r\n", "m.txt": b"\xef\xbb\xbfone\r\ntwo\n", "b": b"\0"}
Rows = Sequence[SeenVersion]


def refusal_of(decide: Callable[[], object]) -> FileToolsError:
    """Return what a decision is refused with."""
    with pytest.raises(FileToolsError) as refusal:
        decide()
    return refusal.value


def knows(*contents: bytes, encoding: str | None = None, is_whole: bool = True) -> Rows:
    """Return what an agent knows that has read some versions, one after the other."""
    return [
        SeenVersion(version=version_of(each), base=version_of(each), encoding=encoding, is_whole=is_whole)
        for each in contents
    ]


def known(path: str, content: bytes | None, rows: Rows = (), *kept: bytes) -> KnownPath:
    """Return a file as an agent sees it; None for a missing file."""
    stat = None if content is None else FileStat("file", len(content), 0o644, 0, 0, 0, 0)
    version = None if content is None else version_of(content)
    look = Look(path=WorkspacePath(path), key=path, view=View(head=None), taken_ns=0, stat=stat, version=version)
    contents = {version_of(each): each for each in kept}
    return KnownPath(seen=look, actor=AGENT, rows=rows, content=lambda: content or b"", kept=contents.get)


def write(now: KnownPath, content: str | bytes, **options: Any) -> PutDecision:
    return decide_write(now, WriteRequest(content=content, **options), SETTINGS)


REFUSED: Final[dict[str, tuple[str, str, str, Rows, dict[str, Any]]]] = {
    "too large": ("FILE_TOO_LARGE", "n", "x" * 1001, (), {}),
    "no such encoding": ("INVALID_ARGUMENT", "n", "x", (), {"encoding": "klingon"}),
    "no such character": ("ENCODING_ERROR", "n", "\u20ac", (), {"encoding": "latin-1"}),
    "cut base64": ("ENCODING_ERROR", "n", "YQ=", (), {"encoding": "base64"}),
    "not a version": ("INVALID_ARGUMENT", "a.txt", "x", (), {"expected_version": "newest"}),
    "another version": ("VERSION_MISMATCH", "a.txt", "x", (), {"expected_version": version_of(b"x")}),
    "a missing version": ("VERSION_MISMATCH", "n", "x", (), {"expected_version": version_of(b"x")}),
    "an unknown version": ("VERSION_MISMATCH", "a.txt", "x", (), {"expected_version": "0" * 64, "on_stale": "merge"}),
    "no version": ("VERSION_MISMATCH", "a.txt", "x", (), {"require_version": True}),
    "not read": ("VERSION_MISMATCH", "a.txt", "x", (), {"require_read": True}),
    "read in part": (
        "VERSION_MISMATCH", "a.txt", "x", knows(OLD, is_whole=False), {"expected_version": version_of(OLD)},
    ),
    "text that is not kept": ("VERSION_MISMATCH", "a.txt", "x", knows(b"gone"), {}),
    "deleted since": ("EDIT_CONFLICT", "n", "x", knows(OLD), {}),
    "binary by now": ("EDIT_CONFLICT", "b", "x", knows(OLD), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_write_is_refused(case: str) -> None:
    code, path, content, rows, options = REFUSED[case]
    assert refusal_of(lambda: write(known(path, FILES.get(path), rows, OLD), content, **options)).code == code


def test_an_overlap_is_refused_with_both_sides() -> None:
    now = known("a.txt", OLD.replace(b"two", b"theirs"), knows(OLD), OLD)
    refusal = refusal_of(lambda: write(now, OLD.decode().replace("two", "mine")))
    details = refusal.details
    assert refusal.code == "EDIT_CONFLICT"
    assert details["conflicts"] == [{"base": "two\n", "current": "theirs\n", "yours": "mine\n", "line": 2}]
    assert details["base_version"] == version_of(OLD)
    assert details["current_version"] == version_of(OLD.replace(b"two", b"theirs"))
    assert "-two\n+theirs\n" in details["diff"]


def test_a_stale_version_is_refused_with_what_has_changed_since() -> None:
    now = known("a.txt", OLD.replace(b"two", b"theirs"), knows(OLD), OLD)
    details = refusal_of(lambda: write(now, "x", expected_version=version_of(OLD))).details
    assert details["expected_version"] == version_of(OLD)
    assert "-two\n+theirs\n" in details["diff"]


def test_a_refusal_names_the_version_that_would_have_been_taken() -> None:
    document = Document(id="d", key="a.txt", path="a.txt", base=None, text_format=UTF8)
    unsaved = OpenText(document=document, text="typed", base=None, base_text="")
    now = replace(known("a.txt", OLD), unsaved=unsaved)
    new = WriteRequest(content="x", expected_version=version_of(b"typed"))
    assert refusal_of(lambda: decide_append(now, new, SETTINGS)).details["current_version"] == now.seen.version


def test_changes_to_other_lines_are_merged() -> None:
    theirs = OLD.replace(b"one", b"ONE")
    answer = write(known("a.txt", theirs, knows(OLD), OLD), OLD.decode().replace("five", "FIVE"))
    assert answer.content == b"ONE\ntwo\nthree\nfour\nFIVE\n"
    assert (answer.is_merged, answer.sent) == (True, OLD.replace(b"five", b"FIVE"))
    assert [hunk["lines"] for hunk in answer.foreign] == [["-one", "+ONE"]]


def test_a_named_older_version_is_merged_if_asked() -> None:
    theirs, mine = OLD.replace(b"one", b"ONE"), OLD.decode().replace("five", "FIVE")
    now = replace(known("a.txt", theirs, (), OLD), had=lambda: [version_of(OLD)])
    expected = version_of(OLD).removeprefix("sha256:")[:12]
    merged = write(now, mine, expected_version=expected, on_stale="merge")
    assert merged.content == b"ONE\ntwo\nthree\nfour\nFIVE\n"


def test_a_version_that_was_only_reported_stands_for_the_text_that_its_writer_knows() -> None:
    theirs = OLD.replace(b"one", b"ONE")
    row = SeenVersion(version=version_of(theirs), base=version_of(OLD))
    decided = write(known("a.txt", theirs, [row], OLD), OLD.decode() + "six\n", expected_version=row.version)
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
    assert write(known(path, FILES.get(path)), content, **options).content == expected


def test_a_text_is_written_in_the_encoding_that_its_writer_read_it_in() -> None:
    content = "\xe4\xf6".encode("utf-16-le")
    decided = write(known("a.txt", content, knows(content, encoding="utf-16-le")), "\xe4")
    assert (decided.content, decided.encoding) == ("\xe4".encode("utf-16-le"), "utf-16-le")


def test_bytes_replace_a_file_whatever_their_writer_knows() -> None:
    now, new = known("a.txt", OLD, knows(b"gone")), WriteRequest(content=b"\0")
    plain = decide_write(now, new, SETTINGS, is_forced=True)
    assert (plain.content, plain.sent) == (b"\0", b"\0")


def test_an_append_to_another_version_is_refused() -> None:
    new = WriteRequest(content="x", expected_version="0" * 12)
    assert refusal_of(lambda: decide_append(known("a.txt", OLD), new, SETTINGS)).code == "VERSION_MISMATCH"


def test_an_append_goes_to_the_end_in_the_form_of_the_file() -> None:
    now = known("w.txt", FILES["w.txt"], knows(b"gone"))
    answer = decide_append(now, WriteRequest(content="x\n"), SETTINGS)
    assert answer.content == b"one\r\ntwo\r\nx\r\n"
    assert (answer.added_bytes, answer.newline) == (3, "crlf")
