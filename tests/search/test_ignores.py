from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from filetools.paths.ignore import IgnoreRules
from filetools.paths.workspace_path import ROOT
from filetools.search.folder import YOUNG_NS
from filetools.search.ignores import IgnoreCache, load_rules
from tests.support.direct_store import CountedStore, DirectStore, open_store

RULES = IgnoreRules.parse("a\n")
OLD = (1, 2, 10, 1_000, 2_000)
TAKEN_NS = 2_000 + YOUNG_NS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DirectStore]:
    store = open_store(tmp_path)
    yield store
    store.close()
    store.workspace.close()


def test_young_file_is_not_kept() -> None:
    cache = IgnoreCache()
    cache.put(".gitignore", OLD, RULES, taken_ns=TAKEN_NS - 1)
    assert cache.get(".gitignore", OLD) is None


def test_file_larger_than_the_cache_is_not_kept() -> None:
    cache = IgnoreCache(max_bytes=9)
    cache.put(".gitignore", OLD, RULES, taken_ns=TAKEN_NS)
    assert cache.get(".gitignore", OLD) is None


def test_file_is_kept_for_its_place_until_it_changes() -> None:
    cache = IgnoreCache()
    cache.put("a/.gitignore", OLD, RULES, taken_ns=TAKEN_NS)
    assert cache.get("a/.gitignore", OLD) is RULES
    assert cache.get("b/.gitignore", OLD) is None
    assert cache.get("a/.gitignore", (1, 2, 10, 1_001, 2_000)) is None


def test_cache_is_bounded_by_bytes() -> None:
    cache = IgnoreCache(max_bytes=25)
    for place in ("a", "b", "c"):
        cache.put(place, OLD, RULES, taken_ns=TAKEN_NS)
    assert [cache.get(place, OLD) is RULES for place in ("a", "b", "c")] == [False, True, True]


@pytest.mark.parametrize("kind", ["nothing", "folder", "link"])
def test_what_is_no_ignore_file_gives_no_rules(store: DirectStore, tmp_path: Path, kind: str) -> None:
    if kind == "folder":
        (tmp_path / ".gitignore").mkdir()
    elif kind == "link":
        (tmp_path / "rules").write_text("a\n")
        (tmp_path / ".gitignore").symlink_to("rules")
    counted = CountedStore(store)
    assert load_rules(counted, ROOT, IgnoreCache()) is None
    assert counted.calls["read"] == 0


def test_bad_lines_are_logged(store: DirectStore, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / ".gitignore").write_text("good\n[bad\n")
    rules = load_rules(store, ROOT, IgnoreCache())
    assert rules is not None
    assert rules.match("good", False)
    assert caplog.messages == [".gitignore, line 2 is skipped: a bracket is not closed"]
