"""Net changes between two states of the whole tree: what differs, who changed it, and how texts changed."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools import Actor, Edit
from filetools.facade.facade import FileToolsFacade
from filetools.history.tree_diff import LARGEST_DIFFED_BYTES
from filetools.models.history import TreeDiffResult
from filetools.permissions.policy import Rule
from tests.facade.test_checkpoints import forget_snapshots
from tests.support.exact_trees import run
from tests.support.opened import refused
from tests.support.storms.pictures import on_disk
from tests.support.unprivileged import as_nobody

SETTINGS: dict[str, Any] = {"watch": False, "durability": "relaxed", "sync_after_seconds": 3600.0}
ALICE = Actor(kind="agent", id="alice", session="s1")
BOB = Actor(kind="agent", id="bob", session="s2")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    run(
        root, "mkdir -p src/deep docs; seq 20 > src/app.py; echo deep > src/deep/d.txt; echo note > docs/note.md; : > e"
    )
    run(root, "printf 'a\\0b' > data.bin; echo run > run.sh")
    return root


def told(result: TreeDiffResult) -> list[tuple[str, str, list[str]]]:
    """Return the kind of change, the path preceded by the old one, and the actor."""
    return [
        (each.change, each.path if each.old_path is None else f"{each.old_path} > {each.path}",
         [actor["id"] for actor in each.actors])
        for each in result.changes
    ]  # fmt: skip


@pytest.mark.parametrize("names", [("nope",), ("x", "nope"), ("",), ("x", ""), ("../x",), ("x", "src/app.py")])
async def test_what_names_no_checkpoint_is_refused(files: FileToolsFacade, names: tuple[str, ...]) -> None:
    await files.checkpoint("x")
    error = await refused("INVALID_ARGUMENT", files.diff_tree(*names))
    assert "known are x" in error.message


async def test_limits_paths_and_checkpoints_without_a_tree_are_refused(files: FileToolsFacade) -> None:
    await files.checkpoint("x")
    await refused("INVALID_ARGUMENT", files.diff_tree("x", limit=0))
    await refused("PATH_TRAVERSAL", files.diff_tree("x", path="../out"))
    await files.delete_checkpoint("x")
    await refused("INVALID_ARGUMENT", files.diff_tree("x"))
    await files.checkpoint("number")
    forget_snapshots(files)
    assert "damaged" in (await refused("INVALID_ARGUMENT", files.diff_tree("number"))).message


async def test_nothing_differs_where_all_is_as_it_was(files: FileToolsFacade, root: Path) -> None:
    await files.checkpoint("x")
    await files.write_file("src/app.py", "new\n")
    await files.undo()
    run(root, "mv docs d; mv d docs; chmod 600 run.sh; chmod 644 run.sh; echo t > t; rm t")
    result = await files.diff_tree("x", patch=True)
    assert (result.changes, result.total, result.counts, result.by_actor) == ([], 0, {}, [])


async def test_each_net_change_is_told_with_everybody_who_had_a_hand_in_it(files: FileToolsFacade, root: Path) -> None:
    await files.checkpoint("x")
    alice, bob = files.for_actor(ALICE), files.for_actor(BOB)
    await alice.edit_file("src/app.py", [Edit(old="3\n4\n", new="3\nfour\n")])
    await bob.edit_file("src/app.py", [Edit(old="17\n", new="seventeen\n")])
    await alice.write_file("made.txt", "alice\n")
    await alice.write_file("passing.txt", "alice\n")
    await bob.delete_file("passing.txt")
    run(root, "echo program >> made.txt; chmod 755 run.sh; rm -r docs; echo file > docs; rm data.bin")
    result = await files.diff_tree("x")
    assert told(result) == [
        ("deleted", "data.bin", ["external"]),
        ("kind", "docs", ["external"]),
        ("deleted", "docs/note.md", ["external"]),
        ("added", "made.txt", ["alice", "external"]),
        ("mode", "run.sh", ["external"]),
        ("modified", "src/app.py", ["alice", "bob"]),
    ]
    assert result.counts == {"deleted": 2, "kind": 1, "added": 1, "mode": 1, "modified": 1}
    assert [(one.id, one.changes) for one in result.by_actor] == [
        ("external", {"deleted": 2, "kind": 1, "added": 1, "mode": 1}),
        ("alice", {"added": 1, "modified": 1}),
        ("bob", {"modified": 1}),
    ]
    (mode,) = [each for each in result.changes if each.change == "mode"]
    assert (mode.old_mode, mode.mode, mode.old_version) == ("644", "755", mode.version)


@pytest.mark.parametrize(
    ("deeds", "expected"),
    [
        ("mv src/app.py lib.py", [("moved", "src/app.py > lib.py")]),
        ("mv src lib", [("moved", "src > lib")]),
        ("mv src lib; echo x >> lib/app.py", [("moved", "src > lib"), ("moved", "src/app.py > lib/app.py")]),
        ("mv e f", [("moved", "e > f")]),
        ("cp run.sh again.sh", [("added", "again.sh")]),
        ("cp run.sh 1; cp run.sh 2; rm run.sh", [("added", "1"), ("added", "2"), ("deleted", "run.sh")]),
        ("mv run.sh t; mv src/app.py run.sh; mv t src/app.py", [("modified", "run.sh"), ("modified", "src/app.py")]),
    ],
)  # fmt: skip
async def test_moves_by_programs_are_moves(
    files: FileToolsFacade, root: Path, deeds: str, expected: list[tuple[str, str]]
) -> None:
    await files.checkpoint("x")
    run(root, deeds)
    found = told(await files.diff_tree("x"))
    assert sorted((change, path) for change, path, _ in found) == sorted(expected)
    assert {name for _, _, names in found for name in names} == {"external"}


async def test_moves_are_followed_by_what_is_recorded_also_when_the_text_changed(files: FileToolsFacade) -> None:
    await files.checkpoint("x")
    alice, bob = files.for_actor(ALICE), files.for_actor(BOB)
    await alice.write_file("src/app.py", "other\n", expected_version=(await alice.read_file("src/app.py")).version)
    await alice.move_file("src/app.py", "one.py")
    await bob.move_file("one.py", "src/deep/two.py")
    await bob.move_file("src/deep", "deeper")
    await alice.move_file("run.sh", "walk.sh")
    await bob.delete_file("walk.sh")
    assert told(await files.diff_tree("x")) == [
        ("moved", "src/deep > deeper", ["bob"]),
        ("moved", "src/app.py > deeper/two.py", ["alice", "bob"]),
        ("deleted", "run.sh", ["alice", "bob"]),
    ]


async def test_who_deleted_a_folder_had_no_hand_in_what_came_later(files: FileToolsFacade) -> None:
    await files.checkpoint("x")
    await files.for_actor(ALICE).delete_directory("src", recursive=True)
    await files.for_actor(BOB).write_file("src/new.py", "new\n")
    assert [each for each in told(await files.diff_tree("x")) if each[0] == "added"] == [
        ("added", "src/new.py", ["bob"])
    ]


async def test_what_was_moved_and_deleted_is_moved_once_the_deletion_is_undone(files: FileToolsFacade) -> None:
    await files.checkpoint("x")
    alice = files.for_actor(ALICE)
    await alice.move_file("src", "lib")
    await alice.delete_file("lib/app.py")
    await alice.undo()
    await alice.delete_directory("lib", recursive=True)
    await alice.undo()
    assert told(await files.diff_tree("x")) == [("moved", "src > lib", ["alice"])]
    await alice.redo()
    await alice.write_file("lib/app.py", "another\n")
    assert (await files.diff_tree("x")).counts == {"added": 2, "deleted": 4}


async def test_two_checkpoints_are_compared_in_both_directions(files: FileToolsFacade) -> None:
    await files.checkpoint("one")
    alice = files.for_actor(ALICE)
    await alice.write_file("new.txt", "new\n")
    await alice.move_file("run.sh", "walk.sh")
    await files.checkpoint("two")
    await files.for_actor(BOB).write_file("later.txt", "later\n")
    assert told(await files.diff_tree("one", "two")) == [
        ("added", "new.txt", ["alice"]), ("moved", "run.sh > walk.sh", ["alice"])
    ]  # fmt: skip
    back = await files.diff_tree("two", "one", patch=True)
    assert told(back) == [("deleted", "new.txt", ["alice"]), ("moved", "walk.sh > run.sh", ["alice"])]
    assert "deleted file mode 100644" in (back.changes[0].diff or "")
    assert (await files.diff_tree("one", "one")).total == 0


async def test_a_path_and_a_limit_leave_the_rest_out(files: FileToolsFacade, root: Path) -> None:
    await files.checkpoint("x")
    run(root, "echo x >> src/app.py; mv src/deep/d.txt docs; echo y >> run.sh; echo z > src2")
    assert [path for _, path, _ in told(await files.diff_tree("x", path="src"))] == [
        "src/deep/d.txt > docs/d.txt", "src/app.py"
    ]  # fmt: skip
    some = await files.diff_tree("x", limit=1)
    assert (len(some.changes), some.total, sum(some.counts.values())) == (1, 4, 4)


async def test_the_diffs_are_what_git_applies(files: FileToolsFacade, root: Path, tmp_path: Path) -> None:
    await files.checkpoint("x")
    before = tmp_path / "before"
    shutil.copytree(root, before, ignore=shutil.ignore_patterns(".filetools"))
    run(root, "sed -i 's/7/seven/' src/app.py; mv docs/note.md 'docs/a note.md'; rm src/deep/d.txt; echo n > new")
    run(root, "chmod 755 run.sh; printf 'no end' > 'with \"quotes\".txt'; echo run2 >> run.sh; mv e empty")
    result = await files.diff_tree("x", patch=True)
    (tmp_path / "x.patch").write_text("".join(each.diff or "" for each in result.changes))
    run(before, "git init -q; git apply ../x.patch; rm -rf .git")
    wanted = {path: what for path, what in on_disk(root).items() if path != "src/deep"}
    assert {path: what for path, what in on_disk(before).items() if path != "src/deep"} == wanted


async def test_where_there_is_no_diff_it_says_why(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = LARGEST_DIFFED_BYTES + 1
    (root / "large").write_bytes(b"x" * large)
    (root / "unkept").write_bytes(b"y\n" * 1000)
    async with filetools.open(root, settings={**SETTINGS, "snapshot_max_file_bytes": 1000}) as files:
        await files.checkpoint("x")
        (root / "large").write_bytes(b"z" * large)
        run(root, "echo y > unkept; printf 'c\\0' > data.bin; mkdir made; echo x >> run.sh; echo z >> docs/note.md")
        found = {each.path: each.diff_omitted for each in (await files.diff_tree("x", patch=True)).changes}
        assert found == {
            "large": "too large", "unkept": "not kept", "data.bin": "binary", "made": None, "run.sh": None,
            "docs/note.md": None,
        }  # fmt: skip
        monkeypatch.setattr("filetools.history.tree_diff.MOST_DIFF_CHARACTERS", 1)
        found = {each.path: each.diff_omitted for each in (await files.diff_tree("x", patch=True)).changes}
        assert [path for path, why in found.items() if why == "too many"] == ["large", "run.sh", "unkept"]


async def test_what_a_rule_keeps_an_agent_from_reading_is_not_shown(files: FileToolsFacade, root: Path) -> None:
    await files.checkpoint("x")
    run(root, "echo secret >> docs/note.md; echo open >> run.sh")
    files._parts.gatekeeper.policy.use("allow", [Rule(tool="read_file", path="docs/**", level="block")])
    shown = (await files.for_actor(ALICE).diff_tree("x", patch=True)).changes
    assert [(each.path, each.diff_omitted, each.diff is None) for each in shown] == [
        ("docs/note.md", "withheld", True), ("run.sh", None, False)
    ]  # fmt: skip


async def test_what_other_rules_leave_out_is_unknown_and_not_deleted(files: FileToolsFacade, root: Path) -> None:
    await files.checkpoint("x")
    await asyncio.sleep(0.05)  # newer than the look, by the file system's clock
    (root / ".gitignore").write_text("docs/\n")
    await files.write_file("src/app.py", "x", expected_version=(await files.read_file("src/app.py")).version)
    result = await files.diff_tree("x")
    assert [(change, path) for change, path, _ in told(result)] == [
        ("added", ".gitignore"),
        ("modified", "src/app.py"),
    ]
    assert result.unknown == ["docs", "docs/note.md"]


def test_what_cannot_be_read_is_named_and_not_told_as_deleted(tmp_path: Path) -> None:
    async def act() -> None:
        root = tmp_path / "own"
        (root / "src").mkdir(parents=True)
        (root / "src/app.py").write_text("one\n")
        async with filetools.open(root, settings=SETTINGS) as files:
            await files.checkpoint("x")
            (root / "src").chmod(0)
            result = await files.diff_tree("x")
            (root / "src").chmod(0o755)
            assert (result.unread, result.unknown) == (["src"], [])
            assert "deleted" not in result.counts

    as_nobody(tmp_path, lambda: asyncio.run(act()))


async def test_a_checkpoint_that_another_process_deletes_meanwhile_is_whole_or_unknown(root: Path) -> None:
    async with filetools.open(root, settings=SETTINGS) as files, filetools.open(root, settings=SETTINGS) as other:
        for _ in range(5):
            await files.checkpoint("x")
            run(root, "echo more >> run.sh")

            async def compare(files: FileToolsFacade = files) -> Any:
                try:
                    return [each.path for each in (await files.diff_tree("x")).changes]
                except filetools.FileToolsError as exc:
                    return exc.code

            found, _ = await asyncio.gather(compare(), other.delete_checkpoint("x"))
            assert found in (["run.sh"], "INVALID_ARGUMENT")
