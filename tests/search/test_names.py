from __future__ import annotations

import pytest

from filetools.errors import InvalidArgumentError
from filetools.paths.workspace_path import ROOT, WorkspacePath
from filetools.search.listing import search_files
from filetools.search.options import ListOptions
from tests.support.direct_store import DirectStore

BEFORE = {
    "src/App.py": b"", "src/lib/app.js": b"", "tests/test_app.py": b"", ".hidden/app.py": b"", "build/app.o": b"",
    "README.md": b"", ".gitignore": b"build/\n",
}  # fmt: skip


def found(store: DirectStore, pattern: str, options: ListOptions | None = None, path: str = "") -> list[str]:
    return [entry.path for entry in search_files(store, WorkspacePath(path), pattern, options).entries]


@pytest.mark.parametrize("pattern", ["", "*" * 5000])
def test_pattern_of_no_or_too_many_characters_is_refused(store: DirectStore, pattern: str) -> None:
    with pytest.raises(InvalidArgumentError):
        search_files(store, ROOT, pattern)


def test_plain_text_is_any_part_of_the_path_in_any_case(store: DirectStore) -> None:
    assert found(store, "APP") == ["src/lib/app.js", "src/App.py", "tests/test_app.py"]
    assert found(store, "c/l") == ["src/lib", "src/lib/app.js"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["src/App.py", "tests/test_app.py"]),
        ("src/*.py", ["src/App.py"]),
        ("src/**/*.js", ["src/lib/app.js"]),
        ("nothing*", []),
    ],
)
def test_glob(store: DirectStore, pattern: str, expected: list[str]) -> None:
    assert found(store, pattern) == expected
