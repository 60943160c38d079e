"""Asking ripgrep: when it is asked, what it is asked about, what is read after it, and what becomes of it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from filetools.errors import AbortedError
from filetools.models.searching import GrepResult
from filetools.paths.workspace_path import ROOT
from filetools.search.contents import candidates
from filetools.search.contents.candidates import Ripgrep, find_ripgrep
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions
from tests.support.crashing import grow
from tests.support.direct_store import DirectStore, open_store

PROGRAM = find_ripgrep()
needs_ripgrep = pytest.mark.skipif(PROGRAM is None, reason="needs ripgrep")
FIRST = 20


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that are started from here on; a page begins with 20 files that are read without one."""
    monkeypatch.setattr(candidates, "FIRST_FILES", FIRST)
    found, start = list[subprocess.Popen[bytes]](), subprocess.Popen

    def popen(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        found.append(start(command, **options))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    return found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DirectStore]:
    store = open_store(tmp_path)
    yield store
    store.close()
    store.workspace.close()


def files(count: int, content: bytes = b"nothing\n") -> dict[str, bytes | None]:
    return {f"d/{number:04}": content for number in range(count)}


def grep(store: DirectStore, pattern: str, program: str | None = PROGRAM, **options: Any) -> GrepResult:
    others = {name: options.pop(name) for name in ("unsaved", "abort") if name in options}
    engine = None if program is None else Ripgrep(program, store.workspace.root)
    return grep_page(store, ROOT, GrepOptions(pattern=pattern, **options), candidates=engine, **others)


def test_a_small_tree_is_searched_without_asking(store: DirectStore, started: list[subprocess.Popen[bytes]]) -> None:
    grow(store.workspace.root, files(FIRST))
    assert grep(store, "nee.*e").total == 0
    assert started == []


@needs_ripgrep
def test_a_page_that_is_full_leaves_nobody_at_work(store: DirectStore, started: list[subprocess.Popen[bytes]]) -> None:
    grow(store.workspace.root, files(FIRST) | {f"e/{number:04}": b"needle\n" for number in range(400)})
    assert grep(store, "needle", limit=5).truncated
    assert started
    assert all(process.returncode is not None for process in started)


@pytest.mark.parametrize("script", ["exit 2", "kill -9 $$", "printf './d/0030\\0'; exit 2", "exec /nowhere"])
def test_whatever_goes_wrong_with_the_program_the_files_are_read(
    store: DirectStore, started: list[subprocess.Popen[bytes]], tmp_path_factory: pytest.TempPathFactory, script: str
) -> None:
    program = tmp_path_factory.mktemp("bin") / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    grow(store.workspace.root, files(100) | {"d/0070": b"needle\n"})
    for mode in (0o755, 0o644):
        program.chmod(mode)
        assert [match.path for match in grep(store, "needle", str(program)).matches] == ["d/0070"]


def test_a_search_stops_while_the_program_works(
    store: DirectStore, started: list[subprocess.Popen[bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = tmp_path_factory.mktemp("bin") / "rg"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    grow(store.workspace.root, files(100))
    with pytest.raises(AbortedError):
        grep(store, "needle", str(program), abort=lambda: bool(started))
    assert started[0].returncode == -9


def test_a_program_that_never_ends_is_given_up(
    store: DirectStore,
    started: list[subprocess.Popen[bytes]],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(candidates, "BATCH_SECONDS", 0.1)
    program = tmp_path_factory.mktemp("bin") / "rg"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    grow(store.workspace.root, files(40) | {"d/0030": b"needle\n"})
    assert grep(store, "needle", str(program)).total == 1
    assert started[0].returncode == -9
