"""Searching contents: what is refused, left out, and shown."""

from __future__ import annotations

import codecs
import errno
import itertools
import os
import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filetools.errors import AbortedError, CallTimeoutError, FileToolsError, InvalidArgumentError
from filetools.models.searching import GrepResult
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions
from filetools.search.contents.pattern import plain_lines, read_pattern
from filetools.search.contents.reading import FileReader
from filetools.search.contents.unsaved import Unsaved
from tests.support.crashing import grow
from tests.support.direct_store import DirectStore

BEFORE: dict[str, bytes | None] = {
    "src/App.py": b"import os\r\n\r\ndef handler(a):\r\n    return a\r\n",
    "src/lib/util.py": b"def helper():\n    return 'gr\xc3\xb6\xc3\x9fe'\n",
    "src/old_mac.txt": b"def one\rdef two\r",
    "latin.txt": "größe def\n".encode("latin-1"),
    "wide.txt": codecs.BOM_UTF16_LE + "größe def\n".encode("utf-16-le"),
    "unmarked.txt": "größe def and more\n".encode("utf-16-be"),
    "chinese.txt": codecs.BOM_UTF16_BE + "你好世界".encode("utf-16-be"),
    "marked.txt": codecs.BOM_UTF8 + b"def first\n",
    "logo.png": b"\x89PNG\r\n\x1a\n def \0\0\0",
    ".hidden/a.py": b"def hidden\n",
    "build/a.py": b"def built\n",
    "node_modules/a.js": b"def foreign\n",
    ".gitignore": b"build/\n",
    "empty": b"",
}  # fmt: skip

GREAT = [
    ("src/lib/util.py", 2, "    return 'größe'"),
    ("latin.txt", 1, "größe def"),
    ("unmarked.txt", 1, "größe def and more"),
    ("wide.txt", 1, "größe def"),
]


def grep(store: DirectStore, pattern: str, path: str = "", **options: Any) -> GrepResult:
    cursor, unsaved, abort = (options.pop(name, None) for name in ("cursor", "unsaved", "abort"))
    options.setdefault("default_excludes", ("node_modules", ".git"))
    chosen = GrepOptions(pattern=pattern, **options)
    return grep_page(store, WorkspacePath(path), chosen, cursor, unsaved=unsaved, abort=abort)


def rows(result: GrepResult) -> list[tuple[str, int, str]]:
    return [(match.path, match.line, match.text) for match in result.matches]


BAD = [
    "", "x" * 4097, "(", "a)", "[a", "[]", "[z-a]", "*", "a**", "a{3,2}", "\\", "\\y", "\\x1", "a\nb", "a\\nb",
    "(" * 2000 + ")" * 2000, "((a{1000}){1000})",
]  # fmt: skip


@pytest.mark.parametrize("pattern", BAD)
def test_a_pattern_that_is_not_valid_is_refused(store: DirectStore, pattern: str) -> None:
    with pytest.raises(InvalidArgumentError):
        grep(store, pattern)


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0}, {"limit": 1001}, {"context": -1}, {"context": 21}, {"output_mode": "lines"}, {"glob": ""},
        {"cursor": "x"}, {"glob": "{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b}"},
    ],
)  # fmt: skip
def test_options_out_of_range_are_refused(store: DirectStore, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        grep(store, "a", **options)


@pytest.mark.parametrize(("path", "code"), [("no", "FILE_NOT_FOUND"), ("link", "SYMLINK_NOT_ALLOWED")])
def test_a_path_that_holds_no_text_is_refused(store: DirectStore, path: str, code: str) -> None:
    (store.workspace.root / "link").symlink_to("src")
    with pytest.raises(FileToolsError) as caught:
        grep(store, "a", path)
    assert caught.value.code == code


def test_abort_stops_between_files_and_after_the_time_of_one(store: DirectStore) -> None:
    with pytest.raises(AbortedError):
        grep(store, "def", abort=lambda: True)
    with pytest.raises(AbortedError):
        read_pattern("(a|aa)+$").find("a" * 5000 + "!", "evil", most=9, abort=lambda: True, seconds=0.1)


def test_a_pattern_that_would_never_end_is_given_up_while_other_threads_run() -> None:
    pattern = read_pattern("(a|aa)+$")
    assert pattern.find("aaa\nb\na", "easy", most=9) == [0, 3, 6, 7]
    ticks, is_over = itertools.count(), threading.Event()

    def tick() -> None:
        while not is_over.wait(0.01):
            next(ticks)

    other = threading.Thread(target=tick)
    other.start()
    try:
        with pytest.raises(CallTimeoutError, match="evil"):
            pattern.find("a" * 5000 + "!", "evil", most=9, seconds=0.5)
    finally:
        is_over.set()
        other.join()
    assert next(ticks) > 3


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (r"(?<=\()a(?=\))", "a"), (r"(r)et\w\1n", "return"), (r"\p{L}+\(", "handler("),
        (r"(?P<word>[[:alpha:]]+) os", "import os"),
        ("x{a}", None), (r"retu?+rn", "return"),
    ],
)  # fmt: skip
def test_the_syntax_is_that_of_regex(store: DirectStore, pattern: str, matched: str | None) -> None:
    found = grep(store, pattern, "src/App.py", only_matching=True).matches
    assert [text for match in found for text in match.matched or ()] == ([] if matched is None else [matched])


def test_without_regex_only_plain_text_is_searched_for(store: DirectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    assert grep(store, "handler").total == 1
    assert grep(store, "Handler(", literal=True, ignore_case=True).total == 1
    with pytest.raises(InvalidArgumentError) as caught:
        grep(store, "handl.r")
    assert "pip install 'agent-filetools[search]'" in (caught.value.suggested_action or "")


def test_every_encoding_is_searched_as_text_and_in_the_order_of_listings(store: DirectStore) -> None:
    for pattern in ("gr..e", "[g][r]..[e]"):  # the first has a text that each match contains
        assert rows(grep(store, pattern)) == GREAT
    assert rows(grep(store, "世")) == [("chinese.txt", 1, "你好世界")]
    assert rows(grep(store, "[^\\x00-\\x7f]世")) == [("chinese.txt", 1, "你好世界")]


def test_lines_are_those_of_reading_whatever_ends_them(store: DirectStore) -> None:
    found = grep(store, "^def .*[)oe]:?$")
    assert rows(found) == [
        ("src/lib/util.py", 1, "def helper():"),
        ("src/App.py", 3, "def handler(a):"),
        ("src/old_mac.txt", 1, "def one"),
        ("src/old_mac.txt", 2, "def two"),
    ]
    assert [match.line for match in grep(store, "^$", "src").matches] == [2]


def test_ignored_hidden_excluded_and_binary_files_are_left_out(store: DirectStore) -> None:
    paths = {match.path for match in grep(store, "d[e]f").matches}
    assert not paths & {".hidden/a.py", "build/a.py", "node_modules/a.js", "logo.png"}
    everything = {match.path for match in grep(store, "d[e]f", all=True).matches}
    assert {".hidden/a.py", "build/a.py", "node_modules/a.js", "logo.png"} <= everything
    assert grep(store, "built", "build/a.py").total == 1


def test_links_are_not_followed(store: DirectStore, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("secret\n")
    (store.workspace.root / "link").symlink_to(outside)
    (store.workspace.root / "file-link").symlink_to(outside / "secret")
    assert grep(store, "[s]ecret", all=True).total == 0


@pytest.mark.parametrize("become", [lambda _: None, Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_what_became_something_else_since_it_was_listed_is_not_read(
    tmp_path: Path, become: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = FileReader.read

    def replaced(reader: FileReader, path: str) -> bytes:
        (tmp_path / path).unlink()
        become(tmp_path / path)
        return read(reader, path)

    monkeypatch.setattr(FileReader, "read", replaced)
    grow(tmp_path, {"a": b"root", "d/b": b"root"})
    store = DirectStore(Workspace.open(tmp_path))
    found = grep(store, "r[o]ot")
    store.close()
    store.workspace.close()
    assert (found.total, found.files_searched, found.total_is_complete, found.warnings) == (0, 2, True, [])


def test_a_file_that_cannot_be_read_is_named(store: DirectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = (store.workspace.root / "src/App.py").stat().st_ino

    def failing(read: Callable[..., bytes], descriptor: int, *values: int) -> bytes:
        if os.fstat(descriptor).st_ino == bad:
            raise OSError(errno.EIO, "a fault of the test")
        return read(descriptor, *values)

    monkeypatch.setattr(os, "read", partial(failing, os.read))
    monkeypatch.setattr(os, "pread", partial(failing, os.pread))
    found = grep(store, "d[e]f")
    (warning,) = found.warnings
    assert "src/App.py" in warning["message"]
    assert ("src/lib/util.py", 1) in [(match.path, match.line) for match in found.matches]
    assert not found.total_is_complete


@pytest.mark.parametrize("become", [lambda _: None, Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_only_regular_files_are_read_through_an_open_folder(store: DirectStore, become: Callable[[Path], None]) -> None:
    reader = FileReader(store, 1000)
    assert reader.read("src/App.py") == BEFORE["src/App.py"]
    path = store.workspace.root / "src/App.py"
    path.unlink()
    become(path)
    with pytest.raises(FileToolsError):
        reader.read("src/App.py")
    path.parent.rename(store.workspace.root / "away")
    with pytest.raises(FileToolsError):
        reader.read("src/lib/util.py")
    reader.close()
    reader.close()


def test_our_own_folder_is_never_searched(store: DirectStore) -> None:
    grow(store.workspace.root, {".filetools/x": b"def", "src/.filetools/x": b"def", "src/.FileTools/x": b"def"})
    paths = [match.path for match in grep(store, "d[e]f", all=True).matches]
    assert not [path for path in paths if "filetools" in path.lower()]


def test_modes_and_globs(store: DirectStore) -> None:
    counted = grep(store, "d[e]f", output_mode="count", glob="src/**/*.{py,txt}")
    assert [(file.path, file.count) for file in counted.files] == [
        ("src/lib/util.py", 1), ("src/App.py", 1), ("src/old_mac.txt", 2),
    ]  # fmt: skip
    assert (counted.total, counted.total_is_complete, counted.matches) == (3, True, [])
    named = grep(store, "d[e]f", output_mode="files", glob="*.py")
    assert [(file.path, file.count) for file in named.files] == [("src/lib/util.py", None), ("src/App.py", None)]


def test_literal_text_means_itself(store: DirectStore) -> None:
    assert rows(grep(store, "handler(a)", literal=True)) == [("src/App.py", 3, "def handler(a):")]
    assert grep(store, "HANDLER(A)", literal=True).total == 0
    assert grep(store, "HANDLER(A)", literal=True, ignore_case=True).total == 1


@pytest.mark.parametrize("pattern", ["GRÖSSE|GRÖßE", "(?i)GRÖßE", "gr[Ö]ß"])
def test_case_is_that_of_unicode(store: DirectStore, pattern: str) -> None:
    assert grep(store, pattern, ignore_case=True).total == 4


@pytest.mark.parametrize("sign", ["\u212a", "\u017f", "\u0130"])
def test_characters_that_fold_to_ascii_are_found(store: DirectStore, sign: str) -> None:
    (store.workspace.root / "odd").write_text(f"a{sign}b\n")
    expected = [letter for letter in "ksi" if re.search(letter, sign, re.IGNORECASE)]
    assert [letter for letter in "ksi" if grep(store, f"a{letter}b", ignore_case=True).total] == expected


def test_matches_may_go_over_lines_only_when_asked(store: DirectStore) -> None:
    (match,) = grep(store, r"os\s+d.*n a", multiline=True).matches
    assert (match.line, match.end_line, match.column) == (1, 4, 8)
    assert match.text == "import os\n\ndef handler(a):\n    return a"
    assert grep(store, r"os\s+def").total == 0


def test_context_and_very_long_lines(store: DirectStore) -> None:
    (match,) = grep(store, "handler", context=2).matches
    assert (match.before, match.after) == (["import os", ""], ["    return a"])
    (store.workspace.root / "long").write_text("x" * 9000 + "needle" + "y" * 9000)
    (match,) = grep(store, "n[e]edle").matches
    assert (match.column, match.clipped, len(match.text)) == (9001, True, 500)
    assert "needle" in match.text


def test_pages_give_each_match_once_while_files_come_and_go(store: DirectStore) -> None:
    expected = rows(grep(store, "d.?e.?f"))
    assert len(expected) > 5
    seen, cursor, total = [], None, 0
    for _ in range(50):
        page = grep(store, "d.?e.?f", limit=1, cursor=cursor)
        seen += rows(page)
        total, cursor = page.total, page.next_cursor
        assert page.total_is_complete is (cursor is None)
        (store.workspace.root / "src" / "App.py").unlink(missing_ok=True)
        (store.workspace.root / "src" / "lib" / "a_new_one").write_text("def new\n")
        if cursor is None:
            break
    assert seen == [row for row in expected if row[0] != "src/App.py"] or seen == expected
    assert total == len(seen)
    with pytest.raises(InvalidArgumentError, match="another path or with other options"):
        grep(store, "def", cursor=grep(store, "d.?e.?f", limit=1).next_cursor)


def test_a_file_that_is_too_large_is_told(store: DirectStore) -> None:
    (store.workspace.root / "large").write_bytes(b"def\n" * 1000)
    found = grep(store, "d[e]f", max_file_bytes=500)
    assert (found.total_is_complete, [warning["code"] for warning in found.warnings]) == (
        False,
        ["FILE_TOO_LARGE"],
    )
    assert "large" in found.warnings[0]["message"]


def test_unsaved_text_stands_for_the_file_and_where_there_is_none(store: DirectStore) -> None:
    texts = {
        "src/App.py": "unsaved line\n", "src/zz_new.py": "unsaved too", "src/.hidden": "unsaved", "build/x": "unsaved",
        "latin.txt": None, "aa/first.txt": "unsaved\r\nunsaved",
    }  # fmt: skip
    unsaved = Unsaved(texts={path: (path, lambda text=text: text) for path, text in texts.items()})  # type: ignore[misc]
    found = grep(store, "un[s]aved|gr..e|def handler", unsaved=unsaved)
    assert [(match.path, match.line, match.origin) for match in found.matches] == [
        ("aa/first.txt", 1, "buffer"),
        ("aa/first.txt", 2, "buffer"),
        ("src/lib/util.py", 2, "disk"),
        ("src/App.py", 1, "buffer"),
        ("src/zz_new.py", 1, "buffer"),
        ("latin.txt", 1, "disk"),
        ("unmarked.txt", 1, "disk"),
        ("wide.txt", 1, "disk"),
    ]
    assert grep(store, "too", "src/zz_new.py", unsaved=unsaved).total == 1


def test_names_that_cannot_be_addressed_are_shown_escaped(store: DirectStore) -> None:
    (store.workspace.root / "back\\slash").write_text("od[d]\n")
    assert rows(grep(store, r"od\[")) == [("back\\\\slash", 1, "od[d]")]


LETTERS = st.sampled_from(["a", "b", "k", "K", "ß", "é", "世", " ", "-", "_", "0", "\\w", "\\W", "\\s", "\\S", "\\d", ".",
                           "[ab]", "[^a]", "[é-ü]", "[^\\s]", "\\b", "^", "$", "{"])  # fmt: skip
PATTERNS = st.recursive(
    LETTERS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,2}", "??"])).map(lambda two: f"({two[0]}){two[1]}"),
    ),
    max_leaves=5,
)
TEXTS = st.text(st.sampled_from("abkK\u212aßéü世 -_0{\t\r\n"), max_size=30)


@settings(max_examples=100, deadline=None)
@given(pattern=PATTERNS, text=TEXTS, ignore_case=st.booleans())
def test_a_line_matches_exactly_if_the_expression_does(pattern: str, text: str, ignore_case: bool) -> None:
    read, plain = read_pattern(pattern, ignore_case=ignore_case), plain_lines(text)
    expression = re.compile(pattern, re.IGNORECASE * ignore_case)
    expected, start = [], 0
    for line in plain.removesuffix("\n").split("\n") if plain else []:
        if found := expression.search(line):
            expected += [start + place for place in found.span()]
        start += len(line) + 1
    assert read.find(plain, "text", most=999) == expected
    assert read.count(plain, "text") == len(expected) // 2
    for first, last in zip(expected[::2], expected[1::2], strict=True):
        assert read.may_match(plain[first:last].encode())


@pytest.mark.parametrize(
    ("given", "count"), [({}, 2), ({"ignore_case": True}, 3), ({"whole_words": True}, 1), ({"literal": True}, 2)]
)
def test_plain_text_is_counted_once_a_line_as_it_is_found(given: dict[str, Any], count: int) -> None:
    text, pattern = "foo foo\n\nfood\nFoo", read_pattern("foo", **given)
    assert pattern.count(text, "text") == len(pattern.find(text, "text", most=9)) // 2 == count


def test_lines_of_a_plain_text_are_counted_without_a_call_for_each(store: DirectStore) -> None:
    (store.workspace.root / "large.py").write_text("foo(\n" * 100_000)
    calls: list[str] = []
    sys.setprofile(lambda _, event, __: calls.append(event))
    try:
        result = grep(store, "foo", "large.py", output_mode="count")
    finally:
        sys.setprofile(None)
    assert [row.count for row in result.files] == [100_000]
    assert len(calls) < 100_000


def test_a_set_that_matches_line_ends_takes_linear_time_and_stays_in_its_line() -> None:
    text = "ab\n" * 20_000
    assert len(read_pattern("[^x]+$").find(text, "text", most=99_999)) == 40_000
