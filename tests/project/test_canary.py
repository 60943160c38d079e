"""Whatever a repository names, nothing of it is run, and nothing in it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from filetools.errors import FileToolsError
from filetools.project.git import git_remote, git_state, listed_files, tracked_although_ignored, worktrees
from tests.support.hostile_repository import (
    FILTERS,
    KINDS,
    environment,
    everything,
    hostile_repository,
)

CALLS: list[Callable[[str], object]] = [git_state, git_remote, listed_files, tracked_although_ignored, worktrees]


@pytest.fixture(autouse=True)
def _nobodys_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)


def all_calls(folders: Iterable[Path]) -> int:
    """Make every call in every folder; return how many had an answer."""
    answered = 0
    for folder in folders:
        for call in CALLS:
            with suppress(FileToolsError):
                answered += bool(call(str(folder)))
    return answered


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_is_run_by_git_and_never_by_us(kind: str, tmp_path: Path) -> None:
    hostile = hostile_repository(tmp_path / "it", kind)
    all_calls({hostile.root, hostile.root / "src", hostile.root / KINDS[kind].inside})
    assert hostile.fired() == set()
    KINDS[kind].pull(hostile)
    assert kind in hostile.fired(), "nobody runs this program, so the test proves nothing"


@pytest.mark.parametrize("left_out", [frozenset[str](), FILTERS, frozenset({*FILTERS, "partial-clone.log"})], ids=len)
def test_with_all_of_them_at_once_none_is_run_and_nothing_changes(left_out: frozenset[str], tmp_path: Path) -> None:
    kinds = [kind for kind in KINDS if kind not in {*left_out, "partial-clone.status"}]
    hostile = hostile_repository(tmp_path / "it", *kinds)
    before = everything(hostile.root)
    answered = all_calls(hostile.folders)
    assert hostile.fired() == set()
    assert everything(hostile.root) == before
    assert answered > 0


def test_in_ordinary_repositories_nothing_changes_not_even_what_git_would_bring_up_to_date(tmp_path: Path) -> None:
    hostile = hostile_repository(tmp_path / "it", "alias")
    git = hostile.git
    git("config", "core.untrackedCache", "true")
    git("worktree", "add", "--quiet", "../linked")
    (hostile.root / "src/b.txt").touch()  # a refresh of the index would note its new time
    before = everything(tmp_path)
    all_calls((*hostile.folders, tmp_path / "it/linked"))
    assert everything(tmp_path) == before
    git("status")
    changed = {path for path, facts in everything(tmp_path).items() if facts != before.get(path)}
    assert f"{hostile.root}/.git/index" in changed
