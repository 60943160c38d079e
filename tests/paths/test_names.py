from __future__ import annotations

import pytest

from filetools.paths.names import fold_name, is_state_name, windows_refusal


@pytest.mark.parametrize(
    "name", ["filetools", ".filetools2", "x.filetools", ".file tools", "fileto", "fileto~", "fileto~x", ""]
)
def test_other_names_are_not_the_state_directory(name: str) -> None:
    assert not is_state_name(name)


@pytest.mark.parametrize("name", [".filetools", ".FILETOOLS. ", "\u200d.filetools", "\ufb01leto~1", "FILETO~12"])
def test_spellings_of_the_state_directory(name: str) -> None:
    assert is_state_name(name)


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("README", "readme"),
        (".G\u200ci\u2060t", ".gi\u2060t"),
        (".git::$DATA", ".git"),
        ("a . .", "a"),
        ("...", ""),
        ("e\u0301", "\u00e9"),
        ("\u212aey", "key"),
        (" a", " a"),
    ],
)
def test_folding(name: str, folded: str) -> None:
    assert fold_name(name) == folded


@pytest.mark.parametrize(
    "name", ["con", "NUL.tar.gz", "Com\u00b2", "LPT9", "conout$", "a.", "a ", "a<b", "a\x00", "tab\t"]
)
def test_names_that_windows_cannot_hold(name: str) -> None:
    assert windows_refusal(name)


@pytest.mark.parametrize("name", ["console", "com0", "com10", "null", "a.con", ".con", "conin", "a b", "\u00e9"])
def test_names_that_windows_can_hold(name: str) -> None:
    assert windows_refusal(name) is None
