from __future__ import annotations

import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from filetools.errors import (
    AbsolutePathError,
    AccessDeniedError,
    FileToolsError,
    InvalidPathError,
    PathTooLongError,
    PathTraversalError,
)
from filetools.paths.lexical import LexicalRules
from tests.support.dose import dose

RULES = LexicalRules(roots=(("srv", "project"),), windows=False)
WINDOWS = LexicalRules(roots=(("C:", "Work", "project"),), windows=True)


PARENTS = [
    "..",
    "../x",
    "a/..",
    "a\\..\\b",
    "/..",
    "./../x",
    "a/b/../../..",
    "/srv/project/../other",
]
PLACES = [
    "C:x",
    "C:\\x",
    "/C:/x",
    "./C:x",
    "\\\\server\\share",
    "\\\\?\\C:\\x",
    "\\\\",
    "\\\\srv\\project\\x",
]


@pytest.mark.parametrize(
    ("raw_path", "error"),
    [*((path, PathTraversalError) for path in PARENTS), *((path, AbsolutePathError) for path in PLACES)],
)
def test_refuses_parent_segments_drives_and_shares(raw_path: str, error: type[FileToolsError]) -> None:
    with pytest.raises(error):
        RULES.parse(raw_path, allow_root=True)


@pytest.mark.parametrize(
    "raw_path",
    ["a\0b", "\0", " ", "\t \n", "\u3000", "  /", "/ ", "./ ", "caf\udce9", "\ud800", "a/\udfff/b"],
)
def test_refuses_texts_that_name_nothing(raw_path: str) -> None:
    with pytest.raises(InvalidPathError) as caught:
        RULES.parse(raw_path, allow_root=True)
    assert caught.value.message.encode()


@pytest.mark.parametrize(
    "raw_path",
    [
        "a" * 256,
        "x/" + "a" * 256 + "/y",
        "\u00e9" * 128,
        "a/" * 2048 + "b",
        "a" * 10_000_000,
        "\ud800" * 5000,
        "./" * 3000,
    ],
)
def test_refuses_what_is_too_long(raw_path: str) -> None:
    with pytest.raises(PathTooLongError) as caught:
        RULES.parse(raw_path, allow_root=True)
    assert len(caught.value.message.encode()) < 1000


def test_the_length_is_counted_in_bytes() -> None:
    longest = "\u00e9a/" * 1023 + "abcd"
    assert len(longest.encode()) == 4096
    assert RULES.parse(longest) == longest
    with pytest.raises(PathTooLongError):
        RULES.parse(longest + "e")


@pytest.mark.parametrize(
    "raw_path", ["", ".", "/", "./", "//", "././", "\\", "/srv/project", "/srv/project/", "/srv//project/."]
)
def test_refuses_the_root_unless_it_is_allowed(raw_path: str) -> None:
    with pytest.raises(InvalidPathError):
        RULES.parse(raw_path)
    assert RULES.parse(raw_path, allow_root=True) == ""


@pytest.mark.parametrize(
    "raw_path",
    [
        ".filetools",
        ".filetools/journal.db",
        "a/b/.filetools/x",
        ".FileTools",
        ".filetools.",
        ".filetools ",
        ".filetools. .",
        ".file\u200ctools/x",
        "\ufeff.filetools",
        ".filetool\u017f",
        ".\ufb01letools",
        ".filetools::$INDEX_ALLOCATION",
        "FILETO~1/x",
        "\\.filetools\\x",
        "/srv/project/.filetools/x",
    ],
)
def test_refuses_the_state_directory_in_every_spelling(raw_path: str) -> None:
    with pytest.raises(AccessDeniedError, match="out of reach"):
        RULES.parse(raw_path)


@pytest.mark.parametrize("raw_path", ["var/state", "var/state/journal.db", "VAR/State./x", "/srv/project/var/state"])
def test_refuses_a_state_directory_elsewhere_in_the_root(raw_path: str) -> None:
    rules = LexicalRules(roots=RULES.roots, state=("var", "state"), windows=False)
    with pytest.raises(AccessDeniedError, match="out of reach"):
        rules.parse(raw_path)
    assert rules.parse("var/statement") == "var/statement"
    assert rules.parse("x/var/state") == "x/var/state"


@pytest.mark.parametrize(
    ("raw_path", "expected"),
    [
        ("a", "a"),
        ("a/b.txt", "a/b.txt"),
        ("./a//b/./c/", "a/b/c"),
        ("a\\b\\c", "a/b/c"),
        ("/a", "a"),
        ("\\a", "a"),
        ("//server/share", "server/share"),
        ("/srv/project/a", "a"),
        ("/srv//project/./a", "a"),
        ("//srv/project/a", "a"),
        ("/srv/project2/a", "srv/project2/a"),
        ("/srv", "srv"),
        ("/etc/passwd", "etc/passwd"),
        ("..x", "..x"),
        (".../....", ".../...."),
        ("~/x", "~/x"),
        ("%2e%2e/%2e", "%2e%2e/%2e"),
        (" a ", " a "),
        ("ab:c", "ab:c"),
        ("a/C:x", "a/C:x"),
        ("nul.txt", "nul.txt"),
        ("a.", "a."),
        ("e\u0301", "e\u0301"),
        ("new\nline", "new\nline"),
        (".filetools2", ".filetools2"),
        ("a" * 255, "a" * 255),
        ("a/" * 2047 + "bb", "a/" * 2047 + "bb"),
    ],
)
def test_normalises(raw_path: str, expected: str) -> None:
    assert RULES.parse(raw_path) == expected


@pytest.mark.parametrize(
    "raw_path",
    [
        "CON",
        "con.txt",
        "a/nul",
        "COM1",
        "lpt\u00b9.log",
        "CONIN$",
        "a.",
        "a ",
        "ab:c",
        "a\x1f",
    ],
)
def test_refuses_names_that_windows_cannot_hold(raw_path: str) -> None:
    with pytest.raises(InvalidPathError, match=r"Windows|reserves"):
        WINDOWS.parse(raw_path)


@pytest.mark.parametrize(
    ("raw_path", "expected"),
    [
        ("C:\\Work\\project\\a.txt", "a.txt"),
        ("c:/WORK/PROJECT/Sub/a.txt", "Sub/a.txt"),
        ("console.txt", "console.txt"),
        ("com10", "com10"),
        ("a\\b", "a/b"),
    ],
)
def test_normalises_on_windows(raw_path: str, expected: str) -> None:
    assert WINDOWS.parse(raw_path) == expected


@pytest.mark.parametrize("raw_path", ["C:\\Work\\project2\\a", "D:\\Work\\project\\a", "C:a", "\\\\server\\share\\a"])
def test_refuses_other_places_on_windows(raw_path: str) -> None:
    with pytest.raises(AbsolutePathError):
        WINDOWS.parse(raw_path)


def test_a_root_on_a_share_is_made_relative_on_windows() -> None:
    rules = LexicalRules(roots=(("server", "share", "project"),), windows=True)
    assert rules.parse("\\\\Server\\share\\project\\a.txt") == "a.txt"
    assert rules.parse("server/share/project/a.txt") == "server/share/project/a.txt"


PIECES = st.sampled_from(
    [
        "/",
        "\\",
        "..",
        ".",
        "a",
        "b.txt",
        " ",
        "C:",
        "~",
        "%2e",
        "\0",
        "\ud800",
        "\u00e9",
        "e\u0301",
        "srv",
        "project",
        "...",
        ".filetools",
        ".git",
        "\u200c",
        ":",
        "CON",
        "/srv/project/",
        "\n",
    ]
)
RAW_PATHS = st.one_of(
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(st.text(string.printable, max_size=8), max_size=6).map("/".join),
    st.text(max_size=60),
)


REFUSALS = (InvalidPathError, AbsolutePathError, PathTraversalError, PathTooLongError, AccessDeniedError)


@settings(max_examples=dose(300), deadline=None)
@given(raw_path=RAW_PATHS, rules=st.sampled_from([RULES, WINDOWS]))
@example(raw_path="/srv/project//srv/project/a", rules=RULES)
@example(raw_path="\\/..", rules=RULES)
def test_whatever_is_accepted_stays_inside_and_is_stable(raw_path: str, rules: LexicalRules) -> None:
    try:
        path = rules.parse(raw_path, allow_root=True)
    except REFUSALS as exc:
        exc.message.encode()
        return
    assert not {"", ".", "..", ".filetools"} & set(path.parts)
    assert not path.startswith("/")
    path.encode()
    assert rules.parse(path, allow_root=True) == path
    if not path.is_root:
        assert path.parent.child(path.name) == path


@settings(max_examples=dose(150), deadline=None)
@given(raw_path=st.text(string.ascii_letters + string.digits + "._-/", max_size=30))
def test_the_fast_way_decides_as_the_slow_one(raw_path: str) -> None:
    # A state directory elsewhere switches the fast way off and refuses none of these.
    slow = LexicalRules(roots=RULES.roots, state=("\u00e9",), windows=False)
    assert outcome(RULES, raw_path) == outcome(slow, raw_path)


def outcome(rules: LexicalRules, raw_path: str) -> str:
    try:
        return rules.parse(raw_path)
    except FileToolsError as exc:
        return exc.message
