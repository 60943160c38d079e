"""Ignore rules from outside the root: git is asked what it would leave out there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.crashing import QUIET

Run = Callable[..., str]

NAMES = (
    "kept", "anchored", "deeper/anchored", "a.mine", "a.global", "a.log", "dist/b", "deeper/dist/b", "taken/back.log",
)  # fmt: skip


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A repository with every source of rules, the user's own among them; runs git in it."""
    users = tmp_path / "users ignores"
    users.write_text("*.global\n*.log\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "gitconfig").write_text(
        f'[core]\n\texcludesFile = "{users}"\n[user]\n\tname = a\n\temail = a@b\n[protocol "file"]\n\tallow = always\n'
    )
    repository = tmp_path / "repository"

    def run(*arguments: str, where: Path = repository) -> str:
        return subprocess.run(["git", "-C", where, *arguments], check=True, capture_output=True, text=True).stdout

    repository.mkdir()
    run("init", "-q")
    grow(repository)
    return run


def grow(repository: Path) -> None:
    root = repository / "packages" / "app"
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("word\n")
    (repository / ".gitignore").write_text("dist/\n/packages/app/anchored\n")
    (repository / "packages" / ".gitignore").write_text("!app/taken/*.log\n")
    exclude = Path(
        subprocess.run(
            ["git", "-C", repository, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude"],
            check=True, capture_output=True, text=True,
        ).stdout.rstrip("\n")
    )  # fmt: skip
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("# a comment\n*.mine\n")


async def found(files: FileToolsFacade) -> set[str]:
    return {entry.path for entry in (await files.search_files("**")).entries if entry.type == "file"}


def by_git(git: Run, root: Path) -> set[str]:
    return set(git("ls-files", "--others", "--exclude-standard", where=root).split())


async def test_a_program_called_git_in_the_repository_is_never_run(
    git: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repository"
    (root / "git").write_text(f"#!/bin/sh\n: > {tmp_path}/mark\n")
    (root / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}{os.pathsep}{os.environ['PATH']}")
    async with filetools.open(root, settings=QUIET) as files:
        assert "a.global" not in await found(files)
    assert not (tmp_path / "mark").exists()


async def test_a_user_without_a_home_has_no_rules_of_their_own(
    git: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FILETOOLS_CONFIG_DIR", str(tmp_path / "own"))
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    async with filetools.open(tmp_path / "repository", settings=QUIET) as files:
        assert "packages/app/a.global" in await found(files)


@pytest.mark.parametrize("folder", ["", "packages", "packages/app", "packages/app/deeper"])
async def test_they_hold_as_git_decides(git: Run, tmp_path: Path, folder: str) -> None:
    root = tmp_path / "repository" / folder
    async with filetools.open(root, settings=QUIET) as files:
        expected = by_git(git, root)
        assert await found(files) == {name for name in expected if ".gitignore" not in name}
        hits = await files.grep_files("word", output_mode="files")
        assert {row.path for row in hits.files} == await found(files)
        assert 0 < len(expected) < len(NAMES)


async def test_they_hold_for_checkpoints_and_what_is_told(git: Run, tmp_path: Path) -> None:
    root = tmp_path / "repository" / "packages" / "app"
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("before")
        for name in ("kept", "a.mine", "a.global", "anchored", "dist/b"):
            (root / name).write_text("another word\n")
        assert [change.path for change in (await files.diff_tree("before")).changes] == ["kept"]


async def test_a_change_of_them_counts_at_once(git: Run, tmp_path: Path) -> None:
    root = tmp_path / "repository" / "packages" / "app"
    async with filetools.open(root, settings=QUIET) as files:
        before = await found(files)
        (tmp_path / "repository" / ".gitignore").write_text("/packages/app/kept\n")
        (tmp_path / "repository" / ".git" / "info" / "exclude").unlink()
        (tmp_path / "users ignores").write_text("")
        after = await found(files)
        assert "kept" in before - after
        assert after >= {"anchored", "dist/b", "a.mine", "a.global"}


async def test_a_linked_work_tree_has_the_rules_of_its_repository(git: Run, tmp_path: Path) -> None:
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("worktree", "add", "-q", str(tmp_path / "linked"))
    grow(tmp_path / "linked")
    root = tmp_path / "linked" / "packages" / "app"
    async with filetools.open(root, settings=QUIET) as files:
        assert await found(files) == by_git(git, root)


async def test_a_submodule_has_its_own(git: Run, tmp_path: Path) -> None:
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("submodule", "add", "-q", str(tmp_path / "repository"), "inner")
    inner = tmp_path / "repository" / "inner"
    grow(inner)
    root = inner / "packages" / "app"
    async with filetools.open(root, settings=QUIET) as files:
        assert await found(files) == by_git(git, root)


async def test_a_root_that_is_a_link_lies_where_it_leads(git: Run, tmp_path: Path) -> None:
    os.symlink(tmp_path / "repository" / "packages" / "app", tmp_path / "link")
    async with filetools.open(tmp_path / "link", settings=QUIET) as files:
        assert await found(files) == by_git(git, tmp_path / "repository" / "packages" / "app")


async def test_without_a_repository_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / ".gitignore").write_text("*\n")
    (tmp_path / "root" / "a.txt").write_text("a\n")
    async with filetools.open(tmp_path / "root", settings=QUIET) as files:
        assert await found(files) == {"a.txt"}


async def test_rules_that_cannot_be_read_are_left_aside(
    git: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repository" / ".gitignore").unlink()
    (tmp_path / "repository" / ".gitignore").mkdir()
    os.truncate(tmp_path / "repository" / ".git" / "info" / "exclude", 65 * 1024**2)
    monkeypatch.setenv("PATH", str(tmp_path))  # no git to ask for the user's own
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "git").mkdir(parents=True)
    (tmp_path / "config" / "git" / "ignore").write_text("/packages/app/kept\n")
    async with filetools.open(tmp_path / "repository" / "packages" / "app", settings=QUIET) as files:
        shown = await found(files)
    assert "kept" not in shown
    assert shown >= {"anchored", "dist/b", "a.global", "a.mine"}
