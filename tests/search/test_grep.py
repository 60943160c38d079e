"""Searching contents: one contract, with ripgrep and without it; what is refused, left out, and shown."""

from __future__ import annotations

import codecs
import itertools
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from filetools.errors import AbortedError, CallTimeoutError, FileToolsError, InvalidArgumentError
from filetools.models.searching import GrepResult
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.contents import candidates as quick
from filetools.search.contents.candidates import Ripgrep, find_ripgrep
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions
from filetools.search.contents.pattern import plain_lines, read_pattern
from filetools.search.contents.reading import FileReader
from filetools.search.contents.unsaved import Unsaved
from tests.support.crashing import grow
from tests.support.direct_store import DirectStore, open_store

PROGRAM = find_ripgrep()
ENGINES = ["alone", pytest.param("ripgrep", marks=pytest.mark.skipif(PROGRAM is None, reason="needs ripgrep"))]
TREE: dict[str, bytes | None] = {
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


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(quick, "FIRST_FILES", 0)  # so that ripgrep is asked about small trees, too
    return str(request.param)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DirectStore]:
    grow(tmp_path, TREE)
    store = open_store(tmp_path)
    yield store
    store.close()
    store.workspace.close()


def made(engine: str, root: Path) -> Ripgrep | None:
    return Ripgrep(PROGRAM, root) if engine == "ripgrep" and PROGRAM is not None else None


def grep(store: DirectStore, engine: str, pattern: str, path: str = "", **options: Any) -> GrepResult:
    cursor, unsaved, abort = (options.pop(name, None) for name in ("cursor", "unsaved", "abort"))
    options.setdefault("default_excludes", ("node_modules", ".git"))
    chosen = GrepOptions(pattern=pattern, **options)
    candidates = made(engine, store.workspace.root)
    return grep_page(
        store, WorkspacePath(path), chosen, cursor, unsaved=unsaved, abort=abort, candidates=candidates
    )  # fmt: skip


def rows(result: GrepResult) -> list[tuple[str, int, str]]:
    return [(match.path, match.line, match.text) for match in result.matches]


BAD = [
    "", "x" * 4097, "(", "a)", "[a", "[]", "[z-a]", "*", "a**", "a{3,2}", "\\", "\\y", "\\x1", "a\nb", "a\\nb",
    "(" * 2000 + ")" * 2000, "((a{1000}){1000})",
]  # fmt: skip


@pytest.mark.parametrize("pattern", BAD)
def test_a_pattern_that_is_not_valid_is_refused(store: DirectStore, engine: str, pattern: str) -> None:
    with pytest.raises(InvalidArgumentError):
        grep(store, engine, pattern)


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0}, {"limit": 1001}, {"context": -1}, {"context": 21}, {"output_mode": "lines"}, {"glob": ""},
        {"cursor": "x"}, {"glob": "{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b}"},
    ],
)  # fmt: skip
def test_options_out_of_range_are_refused(store: DirectStore, engine: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError):
        grep(store, engine, "a", **options)


@pytest.mark.parametrize(("path", "code"), [("no", "FILE_NOT_FOUND"), ("link", "SYMLINK_NOT_ALLOWED")])
def test_a_path_that_holds_no_text_is_refused(store: DirectStore, engine: str, path: str, code: str) -> None:
    (store.workspace.root / "link").symlink_to("src")
    with pytest.raises(FileToolsError) as caught:
        grep(store, engine, "a", path)
    assert caught.value.code == code


def test_abort_stops_between_files_and_after_the_time_of_one(store: DirectStore, engine: str) -> None:
    with pytest.raises(AbortedError):
        grep(store, engine, "def", abort=lambda: True)
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
def test_the_syntax_is_that_of_regex(store: DirectStore, engine: str, pattern: str, matched: str | None) -> None:
    found = grep(store, engine, pattern, "src/App.py", only_matching=True).matches
    assert [text for match in found for text in match.matched or ()] == ([] if matched is None else [matched])


def test_without_regex_only_plain_text_is_searched_for(
    store: DirectStore, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)
    assert grep(store, engine, "handler").total == 1
    assert grep(store, engine, "Handler(", literal=True, ignore_case=True).total == 1
    with pytest.raises(InvalidArgumentError) as caught:
        grep(store, engine, "handl.r")
    assert "pip install 'agent-filetools[search]'" in (caught.value.suggested_action or "")


def test_every_encoding_is_searched_as_text_and_in_the_order_of_listings(store: DirectStore, engine: str) -> None:
    for pattern in ("gr..e", "[g][r]..[e]"):  # ripgrep is asked about the first
        assert rows(grep(store, engine, pattern)) == GREAT
    assert rows(grep(store, engine, "世")) == [("chinese.txt", 1, "你好世界")]
    assert rows(grep(store, engine, "[^\\x00-\\x7f]世")) == [("chinese.txt", 1, "你好世界")]


def test_lines_are_those_of_reading_whatever_ends_them(store: DirectStore, engine: str) -> None:
    found = grep(store, engine, "^def .*[)oe]:?$")
    assert rows(found) == [
        ("src/lib/util.py", 1, "def helper():"),
        ("src/App.py", 3, "def handler(a):"),
        ("src/old_mac.txt", 1, "def one"),
        ("src/old_mac.txt", 2, "def two"),
    ]
    assert [match.line for match in grep(store, engine, "^$", "src").matches] == [2]


def test_ignored_hidden_excluded_and_binary_files_are_left_out(store: DirectStore, engine: str) -> None:
    paths = {match.path for match in grep(store, engine, "d[e]f").matches}
    assert not paths & {".hidden/a.py", "build/a.py", "node_modules/a.js", "logo.png"}
    everything = {match.path for match in grep(store, engine, "d[e]f", all=True).matches}
    assert {".hidden/a.py", "build/a.py", "node_modules/a.js", "logo.png"} <= everything
    assert grep(store, engine, "built", "build/a.py").total == 1


def test_links_are_not_followed(store: DirectStore, engine: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("secret\n")
    (store.workspace.root / "link").symlink_to(outside)
    (store.workspace.root / "file-link").symlink_to(outside / "secret")
    assert grep(store, engine, "[s]ecret", all=True).total == 0


def test_what_became_a_link_or_a_pipe_since_it_was_listed_is_not_read(store: DirectStore) -> None:
    root = store.workspace.root
    (root / "src" / "link").symlink_to(root / "latin.txt")
    os.mkfifo(root / "src" / "pipe")
    with closing(FileReader(store, 1000)) as reader:
        assert reader.read(WorkspacePath("src/old_mac.txt")) == b"def one\rdef two\r"
        assert [reader.read(WorkspacePath(f"src/{name}")) for name in ("link", "pipe", "lib", "gone")] == [None] * 4


def test_our_own_folder_is_never_searched(store: DirectStore, engine: str) -> None:
    grow(store.workspace.root, {".filetools/x": b"def", "src/.filetools/x": b"def", "src/.FileTools/x": b"def"})
    paths = [match.path for match in grep(store, engine, "d[e]f", all=True).matches]
    assert not [path for path in paths if "filetools" in path.lower()]


def test_modes_and_globs(store: DirectStore, engine: str) -> None:
    counted = grep(store, engine, "d[e]f", output_mode="count", glob="src/**/*.{py,txt}")
    assert [(file.path, file.count) for file in counted.files] == [
        ("src/lib/util.py", 1), ("src/App.py", 1), ("src/old_mac.txt", 2),
    ]  # fmt: skip
    assert (counted.total, counted.total_is_complete, counted.matches) == (3, True, [])
    named = grep(store, engine, "d[e]f", output_mode="files", glob="*.py")
    assert [(file.path, file.count) for file in named.files] == [("src/lib/util.py", None), ("src/App.py", None)]


def test_literal_text_means_itself(store: DirectStore, engine: str) -> None:
    assert rows(grep(store, engine, "handler(a)", literal=True)) == [("src/App.py", 3, "def handler(a):")]
    assert grep(store, engine, "HANDLER(A)", literal=True).total == 0
    assert grep(store, engine, "HANDLER(A)", literal=True, ignore_case=True).total == 1


@pytest.mark.parametrize("pattern", ["GRÖSSE|GRÖßE", "(?i)GRÖßE", "gr[Ö]ß"])
def test_case_is_that_of_unicode(store: DirectStore, engine: str, pattern: str) -> None:
    assert grep(store, engine, pattern, ignore_case=True).total == 4


@pytest.mark.parametrize("sign", ["\u212a", "\u017f", "\u0130"])
def test_characters_that_fold_to_ascii_are_found(store: DirectStore, engine: str, sign: str) -> None:
    (store.workspace.root / "odd").write_text(f"a{sign}b\n")
    expected = [letter for letter in "ksi" if re.search(letter, sign, re.IGNORECASE)]
    assert [letter for letter in "ksi" if grep(store, engine, f"a{letter}b", ignore_case=True).total] == expected


def test_matches_may_go_over_lines_only_when_asked(store: DirectStore, engine: str) -> None:
    (match,) = grep(store, engine, r"os\s+d.*n a", multiline=True).matches
    assert (match.line, match.end_line, match.column) == (1, 4, 8)
    assert match.text == "import os\n\ndef handler(a):\n    return a"
    assert grep(store, engine, r"os\s+def").total == 0


def test_context_and_very_long_lines(store: DirectStore, engine: str) -> None:
    (match,) = grep(store, engine, "handler", context=2).matches
    assert (match.before, match.after) == (["import os", ""], ["    return a"])
    (store.workspace.root / "long").write_text("x" * 9000 + "needle" + "y" * 9000)
    (match,) = grep(store, engine, "n[e]edle").matches
    assert (match.column, match.clipped, len(match.text)) == (9001, True, 500)
    assert "needle" in match.text


def test_pages_give_each_match_once_while_files_come_and_go(store: DirectStore, engine: str) -> None:
    expected = rows(grep(store, engine, "d.?e.?f"))
    assert len(expected) > 5
    seen, cursor, total = [], None, 0
    for _ in range(50):
        page = grep(store, engine, "d.?e.?f", limit=1, cursor=cursor)
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
        grep(store, engine, "def", cursor=grep(store, engine, "d.?e.?f", limit=1).next_cursor)


def test_a_file_that_is_too_large_is_told(store: DirectStore, engine: str) -> None:
    (store.workspace.root / "large").write_bytes(b"def\n" * 1000)
    found = grep(store, engine, "d[e]f", max_file_bytes=500)
    assert (found.total_is_complete, [warning["code"] for warning in found.warnings]) == (
        False,
        ["FILE_TOO_LARGE"],
    )
    assert "large" in found.warnings[0]["message"]


def test_unsaved_text_stands_for_the_file_and_where_there_is_none(store: DirectStore, engine: str) -> None:
    texts = {
        "src/App.py": "unsaved line\n", "src/zz_new.py": "unsaved too", "src/.hidden": "unsaved", "build/x": "unsaved",
        "latin.txt": None, "aa/first.txt": "unsaved\r\nunsaved",
    }  # fmt: skip
    unsaved = Unsaved(texts={path: (path, lambda text=text: text) for path, text in texts.items()})  # type: ignore[misc]
    found = grep(store, engine, "un[s]aved|gr..e|def handler", unsaved=unsaved)
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
    assert grep(store, engine, "too", "src/zz_new.py", unsaved=unsaved).total == 1


def test_names_that_cannot_be_addressed_are_shown_escaped(store: DirectStore, engine: str) -> None:
    (store.workspace.root / "back\\slash").write_text("od[d]\n")
    assert rows(grep(store, engine, r"od\[")) == [("back\\\\slash", 1, "od[d]")]


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


@pytest.mark.skipif(PROGRAM is None, reason="needs ripgrep")
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pattern=PATTERNS, texts=st.lists(TEXTS, min_size=3, max_size=3), ignore_case=st.booleans(), multiline=st.booleans(),
       mode=st.sampled_from(["content", "files", "count"]),
       encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-le", "latin-1"]))  # fmt: skip
def test_ripgrep_changes_no_result(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pattern: str, texts: list[str], ignore_case: bool, multiline: bool,
    mode: str, encoding: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(quick, "FIRST_FILES", 0)
    store = open_store(tmp_path)
    try:
        for number, text in enumerate(texts):
            (tmp_path / f"f{number}").write_bytes(text.encode(encoding, "replace"))
        options: dict[str, Any] = {"ignore_case": ignore_case, "multiline": multiline, "output_mode": mode}
        assert grep(store, "ripgrep", pattern, **options) == grep(store, "alone", pattern, **options)
    finally:
        store.close()
        store.workspace.close()


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


@pytest.mark.parametrize("pattern", ["foo", "fo+", "^f"])
def test_lines_are_counted_without_a_call_for_each(store: DirectStore, pattern: str) -> None:
    (store.workspace.root / "large.py").write_text("foo(\n" * 100_000)
    calls: list[str] = []
    sys.setprofile(lambda _, event, __: calls.append(event))
    try:
        result = grep(store, "python", pattern, "large.py", output_mode="count")
    finally:
        sys.setprofile(None)
    assert [row.count for row in result.files] == [100_000]
    assert len(calls) < 100_000


def test_a_set_that_matches_line_ends_takes_linear_time_and_stays_in_its_line() -> None:
    text = "ab\n" * 20_000
    assert len(read_pattern("[^x]+$").find(text, "text", most=99_999)) == 40_000
