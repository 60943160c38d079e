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
from filetools.search.contents.candidates import Candidates, Ripgrep, find_ripgrep
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions
from filetools.search.contents.reading import FileReader
from filetools.search.contents.unsaved import Unsaved
from tests.support.crashing import grow
from tests.support.direct_store import DirectStore, open_store

PROGRAM = find_ripgrep()
needs_ripgrep = pytest.mark.skipif(PROGRAM is None, reason="needs ripgrep")
FIRST = 20


class Costs:
    """What searches have cost so far."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        """The paths that each process was given."""
        self.processes: list[subprocess.Popen[bytes]] = []
        self.read: list[str] = []


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> Costs:
    """Count from here on; a page begins with 20 files, and a process gets at most 200."""
    for name, value in {"FIRST_FILES": FIRST, "SECOND_BATCH": 50, "LARGEST_BATCH": 200}.items():
        monkeypatch.setattr(candidates, name, value)
    found, start, read = Costs(), subprocess.Popen, FileReader.read

    def popen(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        found.asked.append(command[command.index("--") + 1 :])
        found.processes.append(start(command, **options))
        return found.processes[-1]

    def counted(reader: FileReader, path: str) -> bytes | None:
        found.read.append(path)
        return read(reader, path)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(FileReader, "read", counted)
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
    engine = Candidates() if program is None else Ripgrep(program, store.workspace.root)
    return grep_page(store, ROOT, GrepOptions(pattern=pattern, **options), candidates=engine, **others)


@pytest.mark.parametrize("pattern", ["needle", "nee.*e"])
def test_a_small_tree_is_searched_without_asking(store: DirectStore, costs: Costs, pattern: str) -> None:
    grow(store.workspace.root, files(FIRST))
    assert grep(store, pattern).total == 0
    assert costs.asked == []


@needs_ripgrep
@pytest.mark.parametrize(("count", "processes"), [(FIRST + 50, 1), (FIRST + 250, 2), (FIRST + 450, 3)])
def test_after_the_first_files_only_those_with_the_text_are_read(
    store: DirectStore, costs: Costs, count: int, processes: int
) -> None:
    tree = files(count) | {f"d/{number:04}": b"a needle\n" for number in (3, count - 2, count - 1)}
    grow(store.workspace.root, tree)
    found = grep(store, "needle")
    assert [match.path for match in found.matches] == ["d/0003", f"d/{count - 2:04}", f"d/{count - 1:04}"]
    assert costs.read == [*sorted(tree)[:FIRST], *sorted(tree)[-2:]]
    assert len(costs.asked) == processes
    assert [path for paths in costs.asked for path in paths] == [f"./{path}" for path in sorted(tree)[FIRST:]]


@pytest.mark.parametrize("options", [{}, {"output_mode": "files"}, {"output_mode": "count"}])
def test_nothing_is_asked_where_most_files_match(store: DirectStore, costs: Costs, options: dict[str, Any]) -> None:
    grow(store.workspace.root, files(100, b"needle\n"))
    assert grep(store, "needle", limit=1000, **options).total == 100
    assert costs.asked == []


@needs_ripgrep
def test_a_page_that_is_full_leaves_nobody_at_work(store: DirectStore, costs: Costs) -> None:
    grow(store.workspace.root, files(FIRST) | {f"e/{number:04}": b"needle\n" for number in range(400)})
    assert grep(store, "needle", limit=5).truncated
    assert [process.returncode is not None for process in costs.processes] == [True] * 2


@needs_ripgrep
def test_a_file_that_is_too_large_is_told_and_nobody_reads_it(store: DirectStore, costs: Costs) -> None:
    grow(store.workspace.root, files(50) | {"d/0030": b"nothing\n" * 100})
    alone = grep(store, "needle", None, max_file_bytes=500)
    assert [warning["code"] for warning in alone.warnings] == ["FILE_TOO_LARGE"]
    assert grep(store, "needle", max_file_bytes=500) == alone
    assert "./d/0030" not in costs.asked[-1]


@needs_ripgrep
def test_unsaved_text_is_searched_and_its_file_is_not(store: DirectStore, costs: Costs) -> None:
    grow(store.workspace.root, files(50) | {"d/0030": b"needle\n"})
    unsaved = Unsaved(texts={path: (path, lambda text=text: text) for path, text in {"d/0030": "", "d/0040": "needle"}.items()})  # type: ignore[misc]  # fmt: skip
    assert [(match.path, match.origin) for match in grep(store, "needle", unsaved=unsaved).matches] == [
        ("d/0040", "buffer")
    ]
    assert not {"./d/0030", "./d/0040"} & set(costs.asked[-1])


@pytest.mark.parametrize("script", ["exit 2", "kill -9 $$", "printf './d/0030\\0'; exit 2", "exec /nowhere"])
def test_whatever_goes_wrong_with_the_program_the_files_are_read(
    store: DirectStore, costs: Costs, tmp_path_factory: pytest.TempPathFactory, script: str
) -> None:
    program = tmp_path_factory.mktemp("bin") / "rg"
    program.write_text(f"#!/bin/sh\n{script}\n")
    grow(store.workspace.root, files(100) | {"d/0070": b"needle\n"})
    for mode in (0o755, 0o644):
        program.chmod(mode)
        assert [match.path for match in grep(store, "needle", str(program)).matches] == ["d/0070"]


def test_a_search_stops_while_the_program_works(
    store: DirectStore, costs: Costs, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = tmp_path_factory.mktemp("bin") / "rg"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    grow(store.workspace.root, files(100))
    with pytest.raises(AbortedError):
        grep(store, "needle", str(program), abort=lambda: bool(costs.processes))
    assert costs.processes[0].returncode == -9


def test_a_program_that_never_ends_is_given_up(
    store: DirectStore, costs: Costs, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "BATCH_SECONDS", 0.1)
    program = tmp_path_factory.mktemp("bin") / "rg"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    grow(store.workspace.root, files(40) | {"d/0030": b"needle\n"})
    assert grep(store, "needle", str(program)).total == 1
    assert costs.processes[0].returncode == -9
