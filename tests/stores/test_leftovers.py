"""What dead processes leave is found; what living ones use is not touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from filetools.paths.workspace import Workspace
from filetools.stores.private import ORPHAN_AGE_SECONDS, PrivateDirectory, is_left_behind
from tests.support.store_worlds import FILE, LocalWorld

PREPARE = """
import sys
from pathlib import Path
from filetools.paths.workspace import Workspace
from filetools.stores.local import LocalStore
root = Path(sys.argv[1])
workspace = Workspace.open(root)
store = LocalStore(workspace, private_directory=root / ".filetools")
prepared = store.prepare(workspace.resolve("file.txt"), b"unsaved", new=False)
print(prepared.temporary, flush=True)
sys.stdin.read()
"""
NOW_NS = time.time_ns()
OLD_NS = NOW_NS - int((ORPHAN_AGE_SECONDS + 60) * 1e9)


def test_a_living_process_keeps_its_temporary_files_and_a_killed_one_does_not(native: LocalWorld) -> None:
    command = [sys.executable, "-c", PREPARE, str(native.root)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    noted = child.stdout.readline().decode().strip()
    assert noted.startswith(f".filetools/tmp/{child.pid}-")
    assert list(native.store.leftovers()) == []
    child.kill()
    # Not waited for yet: a dead process that nobody has buried is dead all the same.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    [left] = native.store.leftovers()
    assert (left.temporary, left.read()) == (noted, b"unsaved")
    child.communicate()
    left.discard()
    assert (native.hidden(), native.look(FILE)) == (set(), b"one")


def opened(root: Path) -> PrivateDirectory:
    return PrivateDirectory(Workspace.open(root), root / ".filetools")


def test_a_forked_child_has_names_of_its_own(native: LocalWorld) -> None:
    private = opened(native.root)
    reader, writer = os.pipe()
    if os.fork() == 0:
        made = private.new_name()
        os.write(writer, f"{made} {is_left_behind(made, NOW_NS)}".encode())
        os._exit(0)
    os.wait()
    name, judged = os.read(reader, 1000).decode().split()
    os.close(reader)
    os.close(writer)
    assert (name.startswith(f"{os.getpid()}-"), judged) == (False, "False")
    assert (is_left_behind(name, NOW_NS), is_left_behind(private.new_name(), NOW_NS)) == (True, False)
    private.close()


def altered(name: str, **fields: str) -> str:
    parts = dict(zip(("process", "started", "boot", "space", "serial"), name.split("-"), strict=True))
    return "-".join({**parts, **fields}.values())


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = opened(tmp_path_factory.mktemp("root")).new_name()
    assert not is_left_behind(made, OLD_NS)
    return made


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, (False, False)),
        ({"serial": "0123456789abcdef"}, (True, True)),  # another store of this process, closed since
        ({"process": "1", "started": "99999999"}, (True, True)),  # the number was given to another process
        ({"process": "4194305"}, (True, True)),  # no such process
        ({"boot": "00000000"}, (True, True)),  # before the last start of the machine
        ({"space": "1"}, (False, True)),  # another container: only age tells
        ({"started": "0"}, (False, True)),  # a system that tells no start time
    ],
)
def test_who_counts_as_dead(name: str, fields: dict[str, str], expected: tuple[bool, bool]) -> None:
    changed = altered(name, **fields)
    assert (is_left_behind(changed, NOW_NS), is_left_behind(changed, OLD_NS)) == expected


def test_a_displaced_file_with_an_old_time_is_not_taken_for_left_behind(native: LocalWorld) -> None:
    """The age of what came out counts from the exchange, not from its last writing."""
    os.utime(native.root / FILE, ns=(OLD_NS, OLD_NS))
    displaced = native.store.prepare(FILE, b"two", new=False).exchange()
    assert displaced is not None
    assert displaced.stat.modified_ns == OLD_NS
    assert displaced.stat.changed_ns > OLD_NS
    foreign = native.private / "tmp" / "odd"
    foreign.write_bytes(b"x")
    os.utime(foreign, ns=(OLD_NS, OLD_NS))
    assert list(native.store.leftovers()) == []
