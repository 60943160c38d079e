"""Roots with mounts, or on an overlay: what is possible is done, the rest is refused clearly, and nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import which
from tempfile import TemporaryFile

import pytest

from tests.support.dose import dose
from tests.support.forked import forked

_PROGRAM = """
import asyncio, os, subprocess, sys
import filetools
root, outside = sys.argv[1:]
subprocess.run(["mount", "--bind", outside, f"{root}/f"], check=True)

async def main():
    async with filetools.open(root, settings={"watch": False}) as files:
        calls = {
            "write": lambda: files.write_file("f", "new"), "delete": lambda: files.delete_file("f"),
            "move": lambda: files.move_file("f", "g"), "cover": lambda: files.move_file("a", "f", overwrite=True),
        }
        for name, call in calls.items():
            try:
                await call()
            except filetools.FileToolsError as error:
                print(name, error.code, error.path, error.retryable, "mount point" in error.message)
        print((await files.read_file("f")).content, (await files.read_file("a")).content, (await files.status())["pending"])

asyncio.run(main())
"""


_OVERLAY = """
import asyncio, os, subprocess, sys
from pathlib import Path
import filetools
top = sys.argv[1]
root = f"{top}/merged"
for folder in ("low/d/sub/deep", "merged", "disk"):
    os.makedirs(f"{top}/{folder}")
for name in ("f", "sub/g", "sub/deep/h"):
    Path(f"{top}/low/d/{name}").write_text(name)
os.symlink("f", f"{top}/low/d/link")
subprocess.run(["mount", "-t", "tmpfs", "none", f"{top}/disk"], check=True)

def mount(layer):
    os.makedirs(f"{top}/disk/{layer}/work")
    os.makedirs(f"{top}/disk/{layer}/up")
    layers = f"lowerdir={top}/low,upperdir={top}/disk/{layer}/up,workdir={top}/disk/{layer}/work"
    subprocess.run(["mount", "-t", "overlay", "-o", layers, "none", root], check=True)

def tree():
    found = [path.relative_to(root) for path in Path(root).rglob("*")]
    return " ".join(sorted(str(path) for path in found if path.parts[0] != ".filetools"))

async def change(what):
    async with filetools.open(root, settings={"watch": what == "watch"}) as files:
        if what == "move":
            await files.move_file("d", "e")
        else:
            await files.delete_directory("d", recursive=True)

async def look():
    async with filetools.open(root, settings={"watch": False}) as files:
        await files.status()
        print(tree(), end=" | ")
        page = await files.changes()
        print(*(f"{one.operation.value} {one.path}" for one in page.records if one.operation.value != "found"), end=" | ")
        await files.undo(numbers=[page.records[-1].number], actor="*")
        print(tree())
"""

_WHOLE = (
    _OVERLAY
    + """
for what in ("move", "delete", "watch"):
    mount(what)
    asyncio.run(change(what))
    asyncio.run(look())
    subprocess.run(["umount", "-l", root], check=True)
"""
)

_INTERRUPTED = (
    _OVERLAY
    + """
def die_at(step):
    left = step

    def hook(event, _):
        nonlocal left
        if event in ("os.rmdir", "os.utime"):  # before and after the old folder goes
            left -= 1
            if not left:
                os._exit(9)

    sys.addaudithook(hook)

for what in ("move", "delete"):
    for step in (1, 5):
        mount(f"{what}{step}")
        child = os.fork()
        if not child:
            die_at(step)
            asyncio.run(change(what))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end=" | ")
        asyncio.run(look())
        subprocess.run(["umount", "-l", root], check=True)
"""
)


_MOUNTED = """
import asyncio, os, subprocess, sys
from pathlib import Path
import filetools
top = Path(sys.argv[1])
ALICE = filetools.Actor(kind="agent", id="alice")

def mount(name):
    global root
    root = top / name
    (root / "m").mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", root / "m"], check=True)

def tree():
    found = [path.relative_to(root) for path in root.rglob("*") if ".filetools" not in path.parts]
    return " ".join(sorted(str(path) for path in found if ".ft-" not in str(path)))

async def make():
    async with filetools.open(root, settings={"watch": False}) as files:
        await files.for_actor(ALICE).write_file("m/new/deep/n", "n")
        os.symlink("n", root / "m/new/deep/link")

async def act(name):
    async with filetools.open(root, settings={"watch": False}) as opened:
        files = opened.for_actor(ALICE)
        for word in name.split():
            if word == "delete":
                await files.delete_directory("m/new", recursive=True)
            elif word == "clear":
                os.unlink(root / "m/new/deep/link")
            else:
                await getattr(files, word)()
"""

_ROUND = (
    _MOUNTED
    + """
for name in ("clear undo redo undo redo undo", "delete undo redo undo redo"):
    mount(name)
    asyncio.run(make())
    for word in name.split():
        asyncio.run(act(word))
        print(tree(), end=" | ")
    print()
"""
)

_KILLED = (
    _MOUNTED
    + """
def die_at(step):
    left = step

    def hook(event, _):
        nonlocal left
        if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir"):
            left -= 1
            if not left:
                os.kill(os.getpid(), 9)

    sys.addaudithook(hook)

own = "m m/new m/new/deep m/new/deep/n"
every = int(sys.argv[2])
everything = "m m/new m/new/deep m/new/deep/link m/new/deep/n"
for name, back, whole in (
    ("clear undo", "redo", own), ("delete", "undo", everything), ("delete undo", "undo", everything)
):
    *before, last = name.split()
    for step in range(1, 100, every):
        mount(f"{name} {step}")
        asyncio.run(make())
        for word in before:
            asyncio.run(act(word))
        child = os.fork()
        if not child:
            die_at(step)
            asyncio.run(act(last))
            os._exit(0)
        died = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
        asyncio.run(act(""))
        if tree() == "m":
            asyncio.run(act(back))
        if tree() != whole:
            print(name, step, tree())
        subprocess.run(["umount", "-l", root / "m"], check=True)
        if not died:
            break
    print(name, step > 3)
"""
)


_WHOLE_SECONDS = """
import asyncio, os, subprocess, sys, time
from pathlib import Path
import filetools
top, where = Path(sys.argv[1]), sys.argv[2]
root = top / "root"
(root / "disk").mkdir(parents=True)
with open(top / "image", "wb") as image:
    image.truncate(16 << 20)
# Inodes of 128 bytes have no room for fractions of seconds, as on old ext3.
subprocess.run(["mke2fs", "-q", "-F", "-t", "ext2", "-I", "128", top / "image"], check=True, capture_output=True)
subprocess.run(["mount", "-o", "loop", top / "image", root / "disk"], check=True)
if where == "root":
    root /= "disk"
    name = "a"
else:
    name = "disk/a"

def write(text):
    (root / name).write_text(text)

async def main():
    async with filetools.open(root, settings={"watch": False}) as files:
        alice = files.for_actor(filetools.Actor(kind="agent", id="alice", session="s"))
        write("one")
        time.sleep(1 - time.time() % 1 + 0.05)
        second = int(time.time())
        write("two")
        assert (root / name).stat().st_mtime_ns % 1_000_000_000 == 0
        time.sleep(0.1)
        first = await alice.read_file(name)
        await alice.checkpoint("two")
        write("six")
        later = await alice.read_file(name)
        await alice.look()
        print(first.content, later.content, [record.operation.value for record in (await files.changes()).records])
        write("ten")
        try:
            await alice.write_file(name, "own", expected_version=later.version)
        except filetools.FileToolsError as refusal:
            print(refusal.code, (root / name).read_text())
        await alice.restore("two")
        print((root / name).read_text())
        print(int(time.time()) == second)
asyncio.run(main())
"""


_MIRRORED = """
import asyncio, subprocess, sys
from pathlib import Path
import filetools
from tests.support.mirror_worlds import QUICK, caught_up
top, place, shown = Path(sys.argv[1]), *sys.argv[2:]
root, mirror = top / "root", top / "mirror"
for name, text in {"root/m/a": "ours", "root/n/a": "n", "mirror/m/a": "hidden", "other/a": "theirs", "other/b": "b"}.items():
    (top / name).parent.mkdir(parents=True, exist_ok=True)
    (top / name).write_text(text)
subprocess.run(["mount", "--bind", top / shown, top / place], check=True)

def tree(folder):
    return {str(one.relative_to(folder)): one.read_text() if one.is_file() else None
            for one in folder.rglob("*") if ".filetools" not in one.parts}

async def main():
    async with filetools.open(root, mirror=mirror, settings=QUICK) as files:
        async def rest():
            for _ in range(2):  # what is mirrored may be a change of the root
                await files.look()
                await caught_up(files)
        await files.sync_all()
        await rest()
        print(tree(mirror) == tree(root))
        await files.write_file("m/new", "1")
        await files.write_file("m/sub/x", "2")
        (root / "m/saved").write_text("3")
        await rest()
        await files.move_file("m/sub", "m/tub")
        await files.delete_file("m/new")
        await rest()
        print(tree(mirror) == tree(root))
        (mirror / "m/late").write_text("late")
        if place != "root/m":
            await files.delete_directory("m", recursive=True)
            async with asyncio.timeout(20):
                while tree(mirror) != {**tree(root), "m": None}:
                    await files.look()
            print([error["path"] for error in (await files.sync_all()).errors])
        kept = set()
        for path in ("m/a", "m/b", "m/late"):  # that of "n/a", if it is what covers it, may not have been read before
            try:
                versions = (await files.versions(path)).versions
            except filetools.PathNotFoundError:
                continue
            kept |= {(path, (await files.read_file(path, version=each.version)).content) for each in versions}
        print(*sorted(f"{path}={text}" for path, text in kept))

asyncio.run(main())
"""


def _mounting(program: str, *arguments: object) -> list[str]:
    """Run a program that may mount; return its lines."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs the superuser")
    with (
        TemporaryFile("w+") as errors,
        forked("tests.support.unshared", program, *map(str, arguments), stderr=errors) as process,
    ):
        lines = list(iter(process.line, ""))
        code = process.wait()
        errors.seek(0)
        said = errors.read()
    if "unshare failed" in said or "mount: " in said:
        pytest.skip("mounts are not allowed here")
    assert code == 0, said
    return [line.rstrip("\n") for line in lines]


_BELOW = "d d/f d/link d/sub d/sub/deep d/sub/deep/h d/sub/g"
_MOVED = _BELOW.replace("d/", "e/").replace("d e", "e e")


def test_a_folder_of_a_lower_layer_is_moved_deleted_and_restored_as_any_other(tmp_path: Path) -> None:
    assert _mounting(_WHOLE, tmp_path) == [
        f"{_MOVED} | move_directory e | {_BELOW}",
        f" | delete_directory d | {_BELOW}",
        f" | delete_directory d | {_BELOW}",
    ]


def test_a_half_deleted_folder_of_a_lower_layer_is_finished_after_a_crash(tmp_path: Path) -> None:
    assert _mounting(_INTERRUPTED, tmp_path) == [
        *2 * [f"9 | {_MOVED} | move_directory e | {_BELOW}"],
        *2 * [f"9 |  | delete_directory d | {_BELOW}"],
    ]


def test_a_file_that_is_a_mount_point_is_refused_as_that(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").write_text("ext")
    (root / "f").touch()
    (root / "a").write_text("a")
    expected = [f"{name} PERMISSION_DENIED f False True" for name in ("write", "delete", "move", "cover")]
    assert _mounting(_PROGRAM, root, tmp_path / "outside") == [*expected, "ext a 0"]


_ALL = "m m/new m/new/deep m/new/deep/link m/new/deep/n"
_OWN = "m m/new m/new/deep m/new/deep/n"


def test_folders_on_a_mount_come_and_go_by_undo_and_redo(tmp_path: Path) -> None:
    assert _mounting(_ROUND, tmp_path) == [
        f"{_OWN} | m | {_OWN} | m | {_OWN} | m | ",
        f"m | {_ALL} | m | {_ALL} | m | ",
    ]


def test_a_death_amid_changes_of_folders_on_a_mount_leaves_all_or_nothing_of_them(tmp_path: Path) -> None:
    assert _mounting(_KILLED, tmp_path, 1 if dose(1) > 1 else 9) == [
        "clear undo True",
        "delete True",
        "delete undo True",
    ]


@pytest.mark.parametrize("where", ["root", "mount below"])
def test_where_times_are_whole_seconds_a_change_within_one_is_seen_all_the_same(tmp_path: Path, where: str) -> None:
    if which("mke2fs") is None:
        pytest.skip("mke2fs is not installed")
    for turn in range(5):  # a slow machine may need more than one second for it, which is less of a test
        (place := tmp_path / str(turn)).mkdir()
        *lines, is_within_one = _mounting(_WHOLE_SECONDS, place, where)
        assert lines == ["two six ['modify']", "VERSION_MISMATCH ten", "two"]
        if is_within_one == "True":
            break


@pytest.mark.parametrize(
    ("place", "shown", "kept"),
    [
        ("root/m", "other", ["m/a=hidden"]),
        ("mirror/m", "other", ["['m']", "m/a=ours m/a=theirs m/b=b m/late=late"]),
        ("mirror/m", "root/n", ["['m']", "m/a=n m/late=late"]),
        ("mirror/m", "root/m", ["['m']", "m/a=ours m/late=late"]),
    ],
)
def test_a_mirror_with_a_mount_in_it_is_equal_and_loses_nothing_of_others(
    tmp_path: Path, place: str, shown: str, kept: list[str]
) -> None:
    assert _mounting(_MIRRORED, tmp_path, place, shown) == ["True", "True", *kept]
