"""A restore, of the tree or of one path, restores links, kinds and modes exactly, and its redo is the exact inverse."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import filetools
from filetools.facade.facade import FileToolsFacade
from tests.support.exact_trees import ALONE, ANN, Tree, on_disk, opened_once, run
from tests.support.opened import recorded, refused
from tests.support.unprivileged import as_nobody


def grow(root: Path) -> Tree:
    run(
        root, "mkdir -p src/inner docs empty/deep; echo 1 > src/app.py; seq 30 > src/inner/n.txt; echo note > docs/note"
    )
    run(root, "ln -s docs/note link; ln -s ../nowhere src/dangling; ln -s /etc outside; ln -s inner src/folder")
    run(root, "chmod 700 docs; chmod 2750 empty; chmod 600 src/app.py; echo rest > rest; : > src/inner/nothing")
    return on_disk(root)


async def restored_and_redone(root: Path, deeds: str, **options: Any) -> Any:
    """Change things after a checkpoint and restore it; returns the result, once restore, redo and undo were all exact."""
    first = on_disk(root)
    await opened_once(root, lambda files: files.checkpoint("before"))
    run(root, deeds)
    later = on_disk(root)
    async with filetools.open(root, settings=ALONE) as opened:
        files = opened.for_actor(ANN)
        result = await files.restore("before", **options)
        assert on_disk(root) == first
        await files.redo()
        assert on_disk(root) == later
    await opened_once(root, lambda files: files.undo())
    assert on_disk(root) == first
    assert (result.conflicts, result.unknown) == ([], [])
    return result


DEEDS = {
    "texts and modes of files": "sed -i s/1/2/ src/app.py src/inner/n.txt docs/note; chmod 600 rest; chmod 755 docs/note",
    "folders that went": "rm -r src docs",
    "folders and files that moved": "mv src source; mv docs/note .; rmdir empty/deep",
    "a folder that moved into another": "mv src docs/src; mkdir src; echo new > src/app.py; mv docs/src/inner src",
    "another file of the same name": "rm docs/note; echo other > docs/note; touch -d @0 docs/note",
    "new folders": "mkdir -p new/deep; echo x > new/deep/file; cp -r src copy; rm -r empty",
    "links": "rm link src/dangling; ln -sfn /usr outside; ln -sfn ../.. src/folder; ln -s rest new; mkdir made; "
        "ln -s ../rest made/link",
    "links in place of files and the reverse": "rm link; echo file > link; rm outside; mkdir outside; echo x > outside/x; "
        "ln -s x outside/y; rm rest; ln -s docs/note rest",
    "links in place of folders": "mv src lib; ln -s lib src; rm -r docs; ln -s src docs",
    "links that moved": "mv link docs/link; mv src/dangling empty/deep; rm -r src; mkdir src; ln -s elsewhere src/folder",
    "a folder in place of a file": "rm rest; mkdir -p rest/a/b; echo x > rest/a/b/c; mv src/inner s; rm -r src; mv s src; "
        "mv docs/note n; rmdir docs; mv n docs",
    "a file and a folder that changed places": "mv rest r; mv src rest; mv r src; rm -r docs; echo file > docs",
    "a file below its own name": "mv rest r; mkdir rest; mv r rest/rest; rm -r src docs; echo a > src; ln -s src docs; "
        "rm link; mkdir link; chmod 711 link",
    "modes": "chmod 755 docs empty; chmod 500 src/inner; chmod 0 empty/deep rest; chmod 4755 src/app.py",
    "empty folders": "rmdir empty/deep empty; rm -r docs; mkdir -m 555 made; mkdir -m 700 made2; echo x > made2/x",
    "modes of folders that moved": "mv docs papers; chmod 711 papers; mv empty full",
    "modes around a folder that moved": "mv src/inner empty/deep; chmod 1777 empty; chmod 511 empty/deep/inner",
}  # fmt: skip


@pytest.mark.parametrize("deeds", DEEDS.values(), ids=DEEDS)
async def test_what_programs_did_comes_back_and_goes_as_it_was(tmp_path: Path, deeds: str) -> None:
    grow(tmp_path)
    result = await restored_and_redone(tmp_path, deeds)
    assert {change.outcome for change in result.changes} == {"undone"}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../x", "PATH_TRAVERSAL"), ("C:/x", "ABSOLUTE_PATH"), ("never", "INVALID_ARGUMENT"),
        ("docs/never", "INVALID_ARGUMENT"), ("docs/note/never", "INVALID_ARGUMENT"), (".filetools/x", "PERMISSION_DENIED"),
    ],
)  # fmt: skip
async def test_a_part_that_was_never_there_or_is_outside_is_refused(tmp_path: Path, path: str, code: str) -> None:
    grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
        run(tmp_path, "echo changed > rest")
        error = await refused(code, files.restore("before", path))
        assert error.path is not None
    assert (tmp_path / "rest").read_text() == "changed\n"


PARTS = ("src/", "docs/note", "link", "src/inner", "empty", "made", "made/deep/file", "rest")


@pytest.mark.parametrize(
    "deeds",
    [
        "echo 2 > src/app.py; echo 2 > src/inner/n.txt; echo 2 > docs/note; rm -r empty; mkdir -p made/deep; "
        "echo x > made/deep/file; ln -sfn rest link; chmod 755 docs; chmod 700 src; rm rest",
        "rm -r src docs empty link; mkdir -p made/deep; echo x > made/deep/file; mv rest other",
        "mv src made; mkdir made/deep; mv rest made/deep/file; mv docs/note rest; mv link src; mv empty docs",
        "rm -r src; echo file > src; mv docs src2; ln -s src2 docs; mkdir -p made/deep/file; rmdir empty/deep; rmdir empty; "
        "ln -s / empty; rm link; mkdir link; mv rest link",
    ],
)  # fmt: skip
async def test_of_a_part_exactly_what_lies_there_is_as_it_was(tmp_path: Path, deeds: str) -> None:
    first = grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE) as opened:
        files = opened.for_actor(ANN)
        await files.checkpoint("before")
        run(tmp_path, deeds)
        later = on_disk(tmp_path)
        for path in PARTS:
            await assert_a_part_is_restored(files, tmp_path, path, first, later)


async def assert_a_part_is_restored(files: FileToolsFacade, root: Path, path: str, first: Tree, later: Tree) -> None:
    """Restore a path, and redo."""
    top = path.rstrip("/")
    above = {str(folder) for folder in Path(top).parents}

    def is_inside(each: str) -> bool:
        return each == top or each.startswith(f"{top}/")

    if not any(is_inside(each) for each in {**first, **later}):
        await refused("INVALID_ARGUMENT", files.restore("before", path))
        return
    if any(later.get(folder, ("folder",))[0] != "folder" for folder in above) and top in first:
        with pytest.raises(filetools.FileToolsError):
            await files.restore("before", path)
        assert on_disk(root) == later
        return
    planned = await files.restore("before", path, dry_run=True)
    assert on_disk(root) == later
    done = await files.restore("before", path)
    assert [(one.path, one.action) for one in planned.files] == [(one.path, one.action) for one in done.files]
    now = on_disk(root)
    assert {each: now[each] for each in now if is_inside(each)} == {
        each: first[each] for each in first if is_inside(each)
    }
    is_made = any(is_inside(each) for each in first)
    assert {each: now[each] for each in now if not is_inside(each)} == {
        **{each: first[each] for each in first if each in above and is_made},
        **{each: later[each] for each in later if not is_inside(each)},
    }
    if done.files:
        await files.redo()
    assert on_disk(root) == later


async def test_the_whole_tree_can_be_named(tmp_path: Path) -> None:
    grow(tmp_path)
    await restored_and_redone(tmp_path, "rm -r src link", path=".")


@pytest.mark.parametrize("left", ["build/mine", "pipe"])
async def test_a_folder_in_which_something_must_stay_is_no_file_again(tmp_path: Path, left: str) -> None:
    run(tmp_path, "echo f > f; echo rest > rest; printf 'build/\\n' > .gitignore")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
        run(tmp_path, "rm f; mkdir -p f/build; echo x > f/x; echo changed > rest")
        run(tmp_path, "mkfifo f/pipe" if left == "pipe" else "echo mine > f/build/mine")
        changed = on_disk_without_pipes(tmp_path)
        error = await refused("EDIT_CONFLICT", files.restore("before"))
        assert "f" in {conflict["path"] for conflict in error.details["conflicts"]}
        assert on_disk_without_pipes(tmp_path) == changed
        result = await files.restore("before", partial=True)
        assert "f" in {conflict.path for conflict in result.conflicts}
        assert (tmp_path / "rest").read_text() == "rest\n"
        assert (tmp_path / "f" / left).exists()


def on_disk_without_pipes(root: Path) -> set[str]:
    return {str(place.relative_to(root)) for place in root.rglob("*") if ".filetools" not in place.parts}


async def test_a_deleted_folder_alone_is_restored_from_the_trash_with_what_no_snapshot_keeps(tmp_path: Path) -> None:
    grow(tmp_path)
    (tmp_path / "src/large").write_bytes(bytes(2000))
    async with filetools.open(tmp_path, settings=ALONE | {"snapshot_max_file_bytes": 1000}) as files:
        first = on_disk(tmp_path)
        assert (await files.checkpoint("before")).by_hash_alone == ["src/large"]
        await files.delete_directory("src", recursive=True)
        result = await files.restore("before", "src")
    assert (result.conflicts, result.unknown, on_disk(tmp_path)) == ([], [], first)


async def test_changes_that_a_restore_of_their_path_takes_back_are_undone(tmp_path: Path) -> None:
    async with filetools.open(tmp_path, settings=ALONE) as files:
        ann = files.for_actor(ANN)
        await ann.write_file("b", "1")
        await ann.write_file("a", "1")
        await files.checkpoint("before")
        await ann.write_file("b", "2")
        await ann.write_file("a", "2")
        result = await ann.restore("before", "a")
        assert [(change.path, change.outcome) for change in result.changes] == [("a", "undone")]
        await ann.undo()  # of the other change: nothing is left to undo of this path since
        assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("1", "1")
        await ann.undo()
        assert [each.name for each in tmp_path.iterdir() if each.name != ".filetools"] == ["b"]


async def test_names_that_no_call_can_say_stay_and_are_listed(tmp_path: Path) -> None:
    odd = tmp_path / "docs" / os.fsdecode(b"odd\xff")
    grow(tmp_path)
    odd.write_text("x\n")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        assert (await files.checkpoint("before")).unread == ["docs/odd\\xff"]
        odd.write_text("changed\n")
        (tmp_path / "docs" / os.fsdecode(b"more\xfe")).write_text("made since\n")
        run(tmp_path, "echo changed > docs/note")
        result = await files.restore("before")
        assert (result.unknown, odd.read_text()) == (["docs/more\\xfe", "docs/odd\\xff"], "changed\n")
        assert (tmp_path / "docs/note").read_text() == "note\n"
        assert (await files.restore("before", "src")).unknown == []


@pytest.mark.parametrize(
    "deeds",
    [
        "chmod -R u+w locked; rm -r locked",
        "chmod 644 readonly; echo changed > readonly; chmod 444 readonly",
        "chmod 755 locked locked/deep; rm locked/deep/x; ln -s file locked/link; chmod 511 locked/deep; chmod 555 locked",
        "chmod 755 locked; mv locked open; mkdir -m 755 made; echo x > made/x; chmod 555 made; rm readonly; "
        "mkdir readonly; echo x > readonly/x; chmod 555 readonly",
        "chmod 755 locked locked/deep; mv locked/deep .; chmod 500 deep; chmod 500 locked",
        "rm readonly; ln -s locked/file readonly; chmod 600 secret; echo x >> secret; chmod 200 secret",
    ],
)  # fmt: skip
def test_read_only_folders_and_files_as_a_user_without_privileges(tmp_path: Path, deeds: str) -> None:
    def act() -> None:
        run(
            tmp_path,
            "mkdir -p locked/deep; echo f > locked/file; echo x > locked/deep/x; echo r > readonly; echo s > secret",
        )
        run(tmp_path, "chmod 444 readonly locked/file; chmod 400 secret; chmod 555 locked/deep locked")
        asyncio.run(unreadable() if "chmod 200 secret" in deeds else restored_and_redone(tmp_path, deeds))

    async def unreadable() -> None:
        await opened_once(tmp_path, lambda files: files.checkpoint("before"))
        run(tmp_path, deeds)
        error = await refused("EDIT_CONFLICT", opened_once(tmp_path, lambda files: files.restore("before")))
        assert [conflict["path"] for conflict in error.details["conflicts"]] == ["secret"]
        result = await opened_once(tmp_path, lambda files: files.restore("before", partial=True))
        assert [conflict.code for conflict in result.conflicts] == ["PERMISSION_DENIED"]
        assert (tmp_path / "readonly").read_text() == "r\n"

    as_nobody(tmp_path, act)
    for folder in tmp_path.rglob("*"):
        if folder.is_dir() and not folder.is_symlink():
            folder.chmod(0o755)


def test_a_folder_that_nobody_may_look_into_is_a_conflict_and_the_rest_is_restored(tmp_path: Path) -> None:
    async def work() -> None:
        grow(tmp_path)
        async with filetools.open(tmp_path, settings=ALONE) as files:
            await files.checkpoint("before")
            run(tmp_path, "echo 2 > src/app.py; chmod 0 src; echo changed > rest")
            await refused("EDIT_CONFLICT", files.restore("before"))
            result = await files.restore("before", partial=True)
            assert [conflict.path for conflict in result.conflicts] == ["src"]
            assert (tmp_path / "rest").read_text() == "rest\n"
            (tmp_path / "src").chmod(0o700)
            await files.restore("before")
        assert (tmp_path / "src/app.py").read_text() == "1\n"

    as_nobody(tmp_path, lambda: asyncio.run(work()))


async def test_a_link_that_calls_have_deleted_or_moved_comes_back_and_goes_again(tmp_path: Path) -> None:
    first = grow(tmp_path)
    async with filetools.open(tmp_path, settings=ALONE | {"follow_symlinks": True}) as files:
        ann = files.for_actor(ANN)
        await ann.checkpoint("before")
        await ann.delete_file("link")
        await ann.move_file("src/dangling", "docs/moved")
        await ann.delete_directory("src", recursive=True)
        later = on_disk(tmp_path)
        for _ in range(2):
            await ann.restore("before")
            assert on_disk(tmp_path) == first
            await ann.redo()
            assert on_disk(tmp_path) == later


async def test_mirrors_get_the_files_and_no_links_nor_modes_of_folders(tmp_path: Path) -> None:
    root, mirror = tmp_path / "root", tmp_path / "mirror"
    root.mkdir()
    run(root, "mkdir docs; echo note > docs/note; ln -s docs/note link; echo f > f")
    async with filetools.open(root, mirror=mirror, mirror_policy="strict", settings=ALONE) as files:
        await files.sync_all()
        await files.checkpoint("before")
        run(root, "rm link; echo file > link; rm f; mkdir f; echo x > f/x; chmod 700 docs; echo changed > docs/note")
        await files.restore("before")
        await files.sync_all()
        assert (mirror / "docs/note").read_text() == "note\n"
        assert ((mirror / "f").read_text(), os.path.lexists(mirror / "link")) == ("f\n", False)
        run(root, "chmod 711 docs; ln -sfn f link")
        await files.restore("before")
        assert (mirror / "docs").stat().st_mode & 0o777 != 0o711


async def test_links_and_modes_are_recorded_and_tell_no_event(tmp_path: Path) -> None:
    run(tmp_path, "mkdir d; ln -s d link")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        events: list[Any] = []
        files.on("*", events.append)
        await files.checkpoint("before")
        run(tmp_path, "chmod 700 d; ln -sfn nowhere link")
        result = await files.for_actor(ANN).restore("before")
        assert [(one.path, one.action) for one in result.files] == [("link", "link"), ("d", "set_mode")]
        assert await recorded(files) == [("link", "link", "editor"), ("modify_directory", "d", "editor")]
        assert events == []
        assert (await files.versions("d")).versions == []


async def test_a_link_that_changes_while_it_is_restored_is_looked_at_again(tmp_path: Path, monkeypatch: Any) -> None:
    run(tmp_path, "ln -s one link; echo f > f")
    async with filetools.open(tmp_path, settings=ALONE) as files:
        await files.checkpoint("before")
        run(tmp_path, "ln -sfn two link")
        store, made = files._parts.store, []
        read_link, remove = store.read_link, store.remove

        def removed(path: Any, trash: str | None = None) -> Any:
            made.append(os.readlink(tmp_path / "link"))
            return remove(path, trash)

        def meddled(path: Any) -> bytes:
            found = read_link(path)
            if found == b"two":
                run(tmp_path, "ln -sfn three link")  # between the look and the change
            return found

        monkeypatch.setattr(store, "read_link", meddled)
        monkeypatch.setattr(store, "remove", removed)
        await files.for_actor(ANN).restore("before")
        assert (os.readlink(tmp_path / "link"), made) == ("one", ["three"])
        monkeypatch.undo()
        await files.for_actor(ANN).redo()
        assert os.readlink(tmp_path / "link") == "three"


async def test_a_link_that_a_file_replaced_comes_back_although_others_wrote_since(tmp_path: Path) -> None:
    run(tmp_path, "echo file > link")
    async with filetools.open(tmp_path, settings=ALONE) as opened:
        files = opened.for_actor(ANN)
        await files.checkpoint("before")
        run(tmp_path, "rm link; ln -s nowhere link")
        await files.restore("before")
        await opened.write_file("other", "later")
        await files.redo()
    assert (os.readlink(tmp_path / "link"), (tmp_path / "other").read_text()) == ("nowhere", "later")
