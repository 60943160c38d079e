"""Checkpoints in repositories: what git tracks is in them, whatever the ignore rules say; a nested clone is one thing."""

from __future__ import annotations

from pathlib import Path

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.hostile_repository import git
from tests.support.opened import steps_until, until_watched
from tests.support.people import Person

QUIET = {"durability": "relaxed", "watch": False}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository that tracks two files that its ignore rules match, one of them in an ignored folder."""
    place = tmp_path / "root"
    (place / "dist").mkdir(parents=True)
    for path, text in (
        (".gitignore", "*.lock\ndist/\n"),
        ("yarn.lock", "one\n"),
        ("dist/app.js", "one\n"),
        ("a", "one\n"),
    ):
        (place / path).write_text(text)
    git(place, "init", "-q")
    git(place, "add", "-f", ".")
    git(place, "commit", "-q", "-m", "first")
    (place / "dist/built.js").write_text("built\n")
    (place / "other.lock").write_text("one\n")
    return place


async def test_tracked_files_are_in_a_checkpoint_although_they_are_ignored(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("first")
        for path in ("yarn.lock", "dist/app.js", "dist/built.js", "other.lock"):
            (root / path).write_text("two\n")
        changed = await files.diff_tree("first")
        await files.restore("first")
    assert [entry.path for entry in changed.changes] == ["dist/app.js", "yarn.lock"]
    texts = {path: (root / path).read_text() for path in ("yarn.lock", "dist/app.js", "dist/built.js", "other.lock")}
    assert texts == {"yarn.lock": "one\n", "dist/app.js": "one\n", "dist/built.js": "two\n", "other.lock": "two\n"}


async def test_a_change_of_a_tracked_file_is_heard_although_it_is_ignored(root: Path) -> None:
    async with filetools.open(root, settings={"durability": "relaxed"}) as files:
        await until_watched(files, root)
        heard: list[str] = []
        files.on("file:*", lambda event: heard.append(event.path))
        (root / "dist/built.js").write_text("two\n")
        (root / "dist/app.js").write_text("two\n")
        await steps_until(lambda: "dist/app.js" in heard)
    assert heard == ["dist/app.js"]


async def test_a_file_that_git_comes_to_track_was_not_created_then(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await files.look()
        git(root, "add", "-f", "other.lock")
        await files.look()
        assert await _paths_of(files) == []
        (root / "other.lock").write_text("two\n")
        await files.look()
        assert await _paths_of(files) == ["modify other.lock"]


async def test_tracked_files_that_git_deletes_come_back(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("first")
    git(root, "rm", "-q", "-f", "yarn.lock", "dist/app.js")
    async with filetools.open(root, settings=QUIET) as files:
        changed = [(change.change, change.path) for change in (await files.diff_tree("first")).changes]
        assert changed == [("deleted", "dist/app.js"), ("deleted", "yarn.lock")]
        result = await files.restore("first")
        assert sorted(change.path for change in result.changes) == ["dist/app.js", "yarn.lock"]
        assert (await files.diff_tree("first")).changes == []
    assert [(root / path).read_text() for path in ("yarn.lock", "dist/app.js")] == ["one\n", "one\n"]


async def test_a_submodule_in_a_renamed_folder_is_moved_back(root: Path, tmp_path: Path) -> None:
    (root / "libs/part").mkdir(parents=True)
    (root / "libs/part/a").write_text("one\n")
    git(root, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"), "libs/part")
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("first")
        (root / "libs").rename(root / "vendor")
        files.answer_approvals(Person("allow"))
        result = await files.restore("first")
    assert (result.unknown, (root / "vendor").exists()) == ([], False)
    assert git(root / "libs/part", "status", "--short") == "?? a\n"


async def test_what_the_settings_exclude_stays_excluded_whoever_tracks_it(root: Path) -> None:
    async with filetools.open(root, settings={**QUIET, "exclude": ["dist"]}) as files:
        await files.checkpoint("first")
        for path in ("yarn.lock", "dist/app.js"):
            (root / path).write_text("two\n")
        assert [change.path for change in (await files.diff_tree("first")).changes] == ["yarn.lock"]


async def test_a_root_inside_a_repository_has_its_part_of_what_git_tracks(root: Path) -> None:
    (root / "part").mkdir()
    for name in ("yarn.lock", "other.lock"):
        (root / "part" / name).write_text("one\n")
    git(root, "add", "-f", "part/yarn.lock")
    async with filetools.open(root / "part", settings=QUIET) as files:
        await files.checkpoint("first")
        for name in ("yarn.lock", "other.lock"):
            (root / "part" / name).write_text("two\n")
        await files.restore("first")
    assert [(root / "part" / name).read_text() for name in ("yarn.lock", "other.lock")] == ["one\n", "two\n"]


async def test_the_file_that_leads_a_work_tree_to_its_repository_is_a_file(root: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(root, "worktree", "add", "-q", str(tree))
    led = (tree / ".git").read_text()
    async with filetools.open(tree, settings=QUIET) as files:
        await files.checkpoint("first")
        (tree / ".git").write_text("gitdir: /nowhere\n")
        files.answer_approvals(Person("allow"))  # git runs what this file leads to
        await files.restore("first")
        assert [entry.path for entry in (await files.list_files(recursive=True)).entries if entry.path == ".git"] == [
            ".git"
        ]
    assert (tree / ".git").read_text() == led
    async with filetools.open(root, settings=QUIET) as files:
        assert [entry.path for entry in (await files.list_files(recursive=True)).entries if entry.path == ".git"] == []


async def test_a_repository_that_was_cloned_since_stays_whole(root: Path) -> None:
    """Git does not touch one inside the tree either; without its files, only `.git` would be left of it."""
    (root / "moved.txt").write_text("moved\n")
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("first")
        git(root, "clone", "-q", str(root), "vendor/lib")
        (root / "vendor/lib/new.py").write_text("not committed\n")
        (root / "vendor/more.txt").write_text("more\n")
        (root / "moved.txt").rename(root / "vendor/lib/moved.txt")
        (root / "a").write_text("two\n")
        before = git(root / "vendor/lib", "status", "--short")
        result = await files.restore("first")
        assert git(root / "vendor/lib", "status", "--short") == before
        assert result.unknown == ["vendor/lib"]
        assert [(root / name).read_text() for name in ("a", "moved.txt", "vendor/lib/moved.txt")] == [
            "one\n", "moved\n", "moved\n"
        ]  # fmt: skip
        assert not (root / "vendor/more.txt").exists()
        await files.redo()
    assert (root / "a").read_text() == "two\n"
    assert not (root / "moved.txt").exists()
    assert git(root / "vendor/lib", "status", "--short") == before


async def test_what_was_ignored_at_the_checkpoint_is_listed_as_unknown_and_stays(root: Path) -> None:
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("first")
        (root / ".gitignore").write_text("\n")
        await files.diff_tree("first")
        for name in ("dist/built.js", "a"):
            (root / name).write_text("two\n")
        result = await files.restore("first")
    assert "dist/built.js" in result.unknown
    assert sorted((change.path, change.outcome) for change in result.changes) == [
        (".gitignore", "undone"), ("a", "undone")
    ]  # fmt: skip
    assert [(root / name).read_text() for name in ("dist/built.js", "a")] == ["two\n", "one\n"]


async def test_a_repository_that_was_only_renamed_is_moved_back(root: Path) -> None:
    git(root, "clone", "-q", str(root), "vendor/lib")
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("first")
        (root / "vendor").rename(root / "renamed")
        files.answer_approvals(Person("allow"))  # a repository is in it
        result = await files.restore("first")
    assert result.unknown == []
    assert not (root / "renamed").exists()
    assert git(root / "vendor/lib", "status", "--short") == ""


async def test_a_repository_that_was_cloned_into_an_empty_folder_stays_whole(root: Path) -> None:
    (root / "lib").mkdir()
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("first")
        git(root, "clone", "-q", str(root), "lib")
        result = await files.restore("first")
    assert result.unknown == ["lib"]
    assert git(root / "lib", "status", "--short") == ""


async def test_a_folder_that_became_a_repository_stays_one(root: Path, tmp_path: Path) -> None:
    (root / "part").mkdir()
    (root / "part/a").write_text("one\n")
    async with filetools.open(root, settings=QUIET) as files:
        await files.checkpoint("first")
        git(root, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"), "part")
        (root / "part/a").write_text("two\n")
        result = await files.restore("first")
    assert result.unknown == ["part/.git"]
    assert git(root / "part", "status", "--short") == "?? a\n"
    assert (root / "part/a").read_text() == "one\n"


async def test_a_mirror_is_no_second_work_tree(root: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(root, "worktree", "add", "-q", str(tree))
    async with filetools.open(tree, mirror=tmp_path / "mirror", settings=QUIET) as files:
        await files.sync_all()
    assert sorted(path.name for path in (tmp_path / "mirror").iterdir()) == [
        ".filetools", ".gitignore", "a", "dist", "yarn.lock"
    ]  # fmt: skip


async def _paths_of(files: FileToolsFacade) -> list[str]:
    return [f"{record.operation} {record.path}" for record in (await files.changes()).records]
