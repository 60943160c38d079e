from __future__ import annotations

import json
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filetools.errors import (
    NotRegularFileError,
    PathIsDirectoryError,
    PathNotFoundError,
    SymlinkNotAllowedError,
)
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions.log import (
    LogEntry,
    entries_of,
    extract_text,
    format_title,
    instant,
    is_trivial,
    read_entries,
)
from filetools.settings import MIB
from filetools.stores.folder import FolderStore
from tests.support.agent_logs import hostile_lines

Warnings = Callable[[], list[str]]

LOG = WorkspacePath("log.jsonl")
FIRST, LAST = b'{"type":"user","message":"first"}', b'{"type":"user","message":"last"}'
SKIPPED = "log.jsonl, line 2: skipped, it is not a JSON object"
NO_OBJECT = {
    "no JSON", "number", "text", "list", "null", "NUL bytes", "NUL in a text", "two objects", "unfinished", "unfinished text",
    "deep", "deep and unclosed", "huge integer",
}  # fmt: skip
BLANK = {"blank", "blanks"}


@contextmanager
def opened(folder: Path) -> Iterator[FolderStore]:
    workspace = Workspace.open(folder)
    try:
        yield FolderStore(workspace)
    finally:
        workspace.close()


def read(folder: Path, content: bytes | None = None) -> list[Any]:
    """Return the objects of the log in a folder, which is written first if there is content for it."""
    if content is not None:
        (folder / LOG).write_bytes(content)
    with opened(folder) as reads:
        return [entry.raw for entry in read_entries(reads, LOG)]


def said(folder: Path, content: bytes | None = None) -> list[Any]:
    return [raw.get("message") for raw in read(folder, content)]


# Lines


def test_lines_end_at_lf_alone_and_a_cr_before_it_is_no_part_of_them(tmp_path: Path, warnings: Warnings) -> None:
    text = "one\u2028two\u2029three\x85four\x7ffive\rsix\x0bseven"
    line = json.dumps({"message": text}, ensure_ascii=False).encode()
    assert said(tmp_path, line + b"\r\n" + line + b"\n\r\n" + line) == [text] * 3
    assert warnings() == []


@pytest.mark.parametrize(("name", "line"), [pytest.param(*item, id=item[0]) for item in hostile_lines().items()])
def test_an_odd_line_costs_one_warning_at_most_and_no_other_line(
    tmp_path: Path, warnings: Warnings, name: str, line: bytes
) -> None:
    found = read(tmp_path, b"\n".join((FIRST, line, LAST, b"")))
    assert (found[0], found[-1]) == (json.loads(FIRST), json.loads(LAST))
    assert len(found) == (2 if name in NO_OBJECT | BLANK else 3)
    assert warnings() == ([SKIPPED] if name in NO_OBJECT else [])


ENTRY = b'{"type":"user","sessionId":"s","message":{"role":"user","content":"whole"}}'


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (b"\0" * 4096 + ENTRY, 1), (ENTRY[:50] + ENTRY, 1), (ENTRY[:-20] + ENTRY + ENTRY, 2), (ENTRY + b"\0" * 9, 1),
        (b"\xff\xfe" + ENTRY + b"garbage" + ENTRY, 2), (ENTRY[30:], 0), (b'{"' * 20_000, 0),
    ],
    ids=["hole", "glued", "glued twice", "hole behind", "garbage", "no start", "starts alone"],
)  # fmt: skip
def test_whole_entries_of_a_torn_line_are_read(tmp_path: Path, warnings: Warnings, line: bytes, count: int) -> None:
    found = read(tmp_path, b"\n".join((FIRST, line, LAST, b"")))
    assert found[1:-1] == [json.loads(ENTRY)] * count
    assert warnings() == ([] if count else [SKIPPED])
    assert [entry.raw for entry in entries_of(line + b"\n")] == [json.loads(ENTRY)] * count


@given(st.binary(max_size=60).filter(lambda line: b"\n" not in line))
def test_no_bytes_of_a_line_stop_the_reading(tmp_path_factory: pytest.TempPathFactory, line: bytes) -> None:
    found = said(tmp_path_factory.mktemp("bytes"), b"\n".join((FIRST, line, LAST)))
    assert (found[0], found[-1]) == ("first", "last")
    assert len(found) <= 3


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param(b'{"message":"a\xff\xc3(b"}', "a\ufffd\ufffd(b", id="no UTF-8"),
        pytest.param(rb'{"message":"\ud83d \uDE00 \ud83d\ude00"}', "\ufffd \ufffd \U0001f600", id="escaped halves"),
        pytest.param(rb'{"message":"\\ud83d"}', r"\ud83d", id="an escaped backslash"),
        pytest.param(b'\xef\xbb\xbf{"message":"BOM"}', "BOM", id="a BOM"),
    ],
)
def test_what_is_no_character_is_replaced(tmp_path: Path, warnings: Warnings, line: bytes, text: str) -> None:
    assert said(tmp_path, line + b"\n") == [text]
    assert warnings() == []


@pytest.mark.parametrize(
    ("content", "found", "warned"),
    [
        pytest.param(FIRST + b"\n" + LAST[:-1], ["first"], [], id="unfinished"),
        pytest.param(FIRST + b"\n" + LAST[:-1] + b"\n", ["first"], [SKIPPED], id="unreadable, with an end"),
        pytest.param(FIRST + b"\n" + LAST, ["first", "last"], [], id="whole, without an end"),
        pytest.param(b"", [], [], id="empty"),
    ],
)
def test_a_last_line_counts_if_it_is_whole(
    tmp_path: Path, warnings: Warnings, content: bytes, found: list[str], warned: list[str]
) -> None:
    assert said(tmp_path, content) == found
    assert warnings() == warned


@pytest.mark.parametrize("tail", [b"\n" + LAST, b""])
def test_a_line_that_is_too_long_is_skipped_in_little_memory(tmp_path: Path, warnings: Warnings, tail: bytes) -> None:
    path = tmp_path / LOG
    path.write_bytes(FIRST + b"\n")
    os.truncate(path, 96 * MIB)  # takes no space on the disk
    with path.open("ab") as log:
        log.write(tail)
    tracemalloc.start()
    try:
        found = said(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == (["first", "last"] if tail else ["first"])
    assert warnings() == ["log.jsonl, line 2: skipped, it is longer than 16 MiB"]
    assert peak < 40 * MIB


@pytest.mark.parametrize(("excess", "lines"), [(0, 2), (1, 1)])
def test_a_line_of_sixteen_mib_with_its_end_is_read(
    tmp_path: Path, warnings: Warnings, excess: int, lines: int
) -> None:
    start, end = b'{"message":"', b'"}\n'
    filling = b"x" * (16 * MIB - len(start + end) + excess)
    assert len(read(tmp_path, start + filling + end + LAST)) == lines
    assert len(warnings()) == 2 - lines


# Files that change, and what is no file


def test_what_is_appended_while_reading_is_left_alone(tmp_path: Path, warnings: Warnings) -> None:
    (tmp_path / LOG).write_bytes(FIRST + b"\n" + LAST[:9])
    with opened(tmp_path) as reads:
        entries = read_entries(reads, LOG)
        found = [next(entries).message]
        with (tmp_path / LOG).open("ab") as log:
            log.write(LAST[9:] + b"\n" + LAST + b"\n")
        found += [entry.message for entry in entries]
    assert found == ["first"]
    assert warnings() == []


def test_what_vanishes_while_reading_ends_the_log_quietly(tmp_path: Path, warnings: Warnings) -> None:
    (tmp_path / LOG).write_bytes((FIRST + b"\n") * 100_000)
    with opened(tmp_path) as reads:
        entries = read_entries(reads, LOG)
        found = [next(entries).message]
        os.truncate(tmp_path / LOG, MIB + 5)
        found += [entry.message for entry in entries]
    assert set(found) == {"first"}
    assert len(found) < 100_000
    assert warnings() == []


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (os.mkfifo, NotRegularFileError),
        (os.mkdir, PathIsDirectoryError),
        (lambda path: path.symlink_to("/etc/passwd"), SymlinkNotAllowedError),
        (lambda path: path.symlink_to("/etc"), SymlinkNotAllowedError),
        (lambda path: None, PathNotFoundError),
    ],
    ids=["a FIFO", "a folder", "a link to a file", "a link to a folder", "nothing"],
)
def test_what_is_no_file_is_refused_at_once(
    tmp_path: Path, make: Callable[[Path], object], error: type[Exception]
) -> None:
    make(tmp_path / LOG)
    with pytest.raises(error):
        read(tmp_path)


# Entries

TEXTS = {
    "type": "type", "timestamp": "timestamp", "uuid": "uuid", "cwd": "cwd", "slug": "slug", "tag": "tag",
    "session_id": "sessionId", "agent_id": "agentId", "git_branch": "gitBranch", "last_prompt": "lastPrompt",
    "custom_title": "customTitle", "ai_title": "aiTitle",
}  # fmt: skip
FLAGS = {"is_sidechain": "isSidechain", "is_meta": "isMeta", "is_summary": "isCompactSummary"}


def fields(entry: LogEntry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in TEXTS | FLAGS}


def test_each_field_of_an_entry_has_its_key() -> None:
    entry = LogEntry({key: f"the {key}" for key in TEXTS.values()} | dict.fromkeys(FLAGS.values(), True))
    assert fields(entry) == {name: f"the {key}" for name, key in TEXTS.items()} | dict.fromkeys(FLAGS, True)


@pytest.mark.parametrize("value", [None, 1, 1.5, [], {}, ["text"], {"a": 1}])
def test_fields_that_are_missing_or_of_another_type_are_empty(value: Any) -> None:
    empty = dict.fromkeys(TEXTS, "") | dict.fromkeys(FLAGS, False)
    assert fields(LogEntry({})) == empty
    assert fields(LogEntry(dict.fromkeys((TEXTS | FLAGS).values(), value))) == empty


@pytest.mark.parametrize(
    ("message", "content", "blocks"),
    [
        (None, None, []),
        (["text"], None, []),
        ("text", "text", [{"type": "text", "text": "text"}]),
        ({"content": "text"}, "text", [{"type": "text", "text": "text"}]),
        ({"content": ["a", None, {"b": 1}, 3]}, ["a", None, {"b": 1}, 3], [{"type": "text", "text": "a"}, {"b": 1}]),
    ],
)
def test_messages_of_all_shapes_have_content_and_blocks(message: Any, content: Any, blocks: Any) -> None:
    entry = LogEntry({"message": message})
    assert (entry.message, entry.content, list(entry.blocks)) == (message, content, blocks)


# Parts of logs


def test_a_line_that_is_cut_counts_only_if_asked_for() -> None:
    chunk = b'odd\n{"a":1}\n{"type":"user","message":"the beg'
    assert [entry.raw for entry in entries_of(chunk)] == [{"a": 1}]
    assert [entry.raw for entry in entries_of(chunk, is_cut=True)] == [{"a": 1}, {"type": "user", "message": "the beg"}]


@pytest.mark.parametrize("end", range(1, 7))
def test_a_cut_inside_of_a_character_costs_only_that_character(end: int) -> None:
    line = b'{"message":"text\xf0\x9f\x98\x80 \\u00e4"}'
    (entry,) = entries_of(line[: 16 + end], is_cut=True)
    assert entry.message.rstrip("\U0001f600 ") == "text"


# Times


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("timestamp", "seconds"),
    [
        ("2026-03-01T09:00:00.250Z", 1772355600.25),
        ("2026-03-01T09:00:00.250+00:00", 1772355600.25),
        ("2026-03-01T11:00:00.250+02:00", 1772355600.25),
        ("2026-03-01 09:00:00.250", 1772355600.25),
    ],
)
def test_times_with_and_without_a_zone_are_understood_wherever_one_is(
    in_tokyo: None, timestamp: str, seconds: float
) -> None:
    assert instant(timestamp) == seconds


@pytest.mark.parametrize(
    "timestamp",
    ["", "now", "2026-13-45T99:99:99Z", "1772355600", "\ufffd", "2026-03-01T09:00:00Z ", "0000-00-00", "9" * 5000],
)
def test_other_times_are_unreadable(timestamp: str) -> None:
    assert instant(timestamp) is None


# Texts

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
WORDS = ["y", "n", "k", "g", "ok", "go", "yes", "no", "continue", "proceed", "sure", "okay", "resume"]
REMINDER = "<system-reminder>\nBe brief.\n</system-reminder>"


def text(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    "content", [None, 3, 1.5, True, {}, text("no list"), [], [None], [[text("deep")]], [3, {"text": "x"}]]
)
def test_what_is_neither_text_nor_blocks_of_text_has_none(content: Any) -> None:
    assert extract_text(content) == ""


def test_blocks_of_text_are_joined_by_an_empty_line() -> None:
    blocks = [
        text("one"),
        {"type": "image", "text": "no"},
        "two\n",
        text(None),
        {"type": ["text"], "text": "no"},
        text(" three"),
    ]
    assert extract_text(blocks) == "one\n\ntwo\n\n\n three"
    assert extract_text(blocks, separator="\n") == "one\ntwo\n\n three"


@pytest.mark.parametrize("reminder", [REMINDER, f"{REMINDER}\n{REMINDER}"])
def test_blocks_that_are_reminders_are_dropped(reminder: str) -> None:
    assert extract_text([text(reminder), text("Said"), reminder]) == "Said"


@pytest.mark.parametrize(
    "said", [f"{REMINDER} Do it {REMINDER}", f"Do it {REMINDER}", f"{REMINDER} Do it", "<system-reminder>unfinished"]
)
def test_what_was_said_between_reminders_is_kept(said: str) -> None:
    assert extract_text([text(said)]) == said


@pytest.mark.parametrize("word", WORDS)
def test_words_that_say_nothing_are_trivial_in_any_case(word: str) -> None:
    assert is_trivial(word)
    assert is_trivial(f"\n {word.upper()} ")
    assert not is_trivial(f"{word} then")
    assert not is_trivial(f"{word}!!")


TRIVIAL = ["", " \n\t\u3000", "a\u0308", FAMILY, "/x", " /Compact keep the plan ", "/mcp:run\nx", "/tmp is full"]
SAID = ["ab", "👍👍", "🇩🇪🇫🇷", "ok!", "/home/me/a.py fails", "/ clear", "/9lives", "/clear, please", "see /clear"]


def test_at_most_one_character_and_a_slash_command_are_trivial() -> None:
    assert [said for said in (*TRIVIAL, *SAID) if is_trivial(said)] == TRIVIAL


def test_a_title_has_eighty_characters_or_is_cut() -> None:
    assert format_title("x" * 80) == "x" * 80
    assert format_title("x" * 81) == "x" * 77 + "..."
    assert format_title("") == ""


@pytest.mark.parametrize("character", ["a\u0308", FAMILY])
def test_a_title_cuts_no_character_apart(character: str) -> None:
    for before in range(70, 78):
        cut = format_title("x" * before + character * 20).removesuffix("...")
        assert len(cut) <= 77
        assert set(cut.removeprefix("x" * before).split(character)) == {""}


@given(st.text(max_size=200))
def test_a_title_is_no_longer_than_eighty_characters_and_has_no_ends_of_lines(said: str) -> None:
    title = format_title(said)
    assert len(title) <= 80
    assert title == " ".join(title.split())
