"""Projects and instances, as every process on a workspace knows them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from filetools.errors import (
    AccessDeniedError,
    DirectoryNotFoundError,
    FileToolsError,
    GitNotFoundError,
    InvalidArgumentError,
    PathNotDirectoryError,
    ProjectExistsError,
    ProjectNotFoundError,
)
from filetools.events.types import Event
from filetools.journal.journal import Journal
from filetools.processes import process_mark
from filetools.project.registry import Registry

START = 1_700_000_000.0
FIRST = "2023-11-14T22:13:20.000Z"
DAY = 86400.0


class World:
    """A registry on a journal of its own, whose clock stands still until it is set."""

    def __init__(self, folder: Path) -> None:
        self.now = START
        self.told: list[dict[str, Any]] = []
        self.remotes: dict[str, dict[str, Any]] = {}
        self.unknown: set[int] = set()
        self.folder = folder
        self.state = folder / "state"
        self.state.mkdir()
        self.journal = Journal(self.state, durability="relaxed", timeout_seconds=60)
        self.registry = self.opened(self.journal)

    def opened(self, journal: Journal) -> Registry:
        return Registry(
            journal.registry, base=str(self.folder), clock=lambda: self.now, publish=self._hear, remote=self._remote
        )

    def folder_of(self, name: str) -> str:
        (self.folder / name).mkdir(parents=True, exist_ok=True)
        return str(self.folder / name)

    def events(self) -> list[tuple[str, ...]]:
        """Return name and ids of the events since the last call."""
        found = [
            (each["event"], *(each[key] for key in ("project", "instance", "status") if key in each))
            for each in self.told
        ]
        self.told.clear()
        return found

    def rows(self, prefix: str = "") -> list[str]:
        return [row.key for row in self.journal.registry.scan(prefix)]

    def _hear(self, event: Event) -> None:
        self.told.append(event.to_dict())

    def _remote(self, path: str) -> Mapping[str, Any] | None:
        if path.endswith("no-git"):
            raise GitNotFoundError
        return self.remotes.get(path)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.journal.close()


@pytest.fixture
def registry(world: World) -> Registry:
    return world.registry


def test_a_folder_is_a_project_once(world: World, registry: Registry) -> None:
    made = registry.create(world.folder_of("app"))
    (world.folder / "link").symlink_to("app")
    for again in ("app", "app/", str(world.folder / "link"), "./x/../app"):
        with pytest.raises(ProjectExistsError) as caught:
            registry.create(again)
        assert (caught.value.code, caught.value.details) == ("PROJECT_EXISTS", {"id": made["id"]})
    assert registry.ensure_project("link")["id"] == made["id"]
    assert [each["id"] for each in registry.list_projects()] == [made["id"]]


def test_of_openings_that_create_one_project_at_once_one_does(world: World, registry: Registry) -> None:
    folders = [world.folder_of(str(number)) for number in range(20)]
    together = threading.Barrier(2)

    def create(of: Registry) -> list[tuple[str, str]]:
        said = []
        for folder in folders:
            together.wait(60)
            try:
                said.append(("made", of.create(folder)["id"]))
            except ProjectExistsError as error:
                said.append((error.code, error.details["id"]))
        return said

    with closing(Journal(world.state, timeout_seconds=60)) as journal, ThreadPoolExecutor(2) as pool:
        for pair in zip(*pool.map(create, (registry, world.opened(journal))), strict=True):
            assert sorted(code for code, _ in pair) == ["PROJECT_EXISTS", "made"]
            assert pair[0][1] == pair[1][1]
    assert len(registry.list_projects()) == len(world.rows("projects/")) == 20


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("nothing", DirectoryNotFoundError),
        ("file", PathNotDirectoryError),
        ("state/.filetools", AccessDeniedError),
        ("a\0b", InvalidArgumentError),
    ],
)
def test_what_is_no_folder_is_no_project(
    world: World, registry: Registry, path: str, error: type[FileToolsError]
) -> None:
    (world.folder / "file").touch()
    world.folder_of("state/.filetools")
    with pytest.raises(error):
        registry.create(path)
    with pytest.raises(error):
        registry.ensure_project(path)
    assert (world.rows(), world.events()) == ([], [])


@pytest.mark.parametrize("bad", ["x", "", "a/b", "\ud800", "é" * 1000])
def test_an_unknown_id_is_refused(world: World, registry: Registry, bad: str) -> None:
    for act in (
        registry.project,
        registry.delete_project,
        lambda each: registry.move_project(each, "."),
    ):
        with pytest.raises(ProjectNotFoundError) as caught:
            act(bad)
        assert caught.value.message == f"Project not found: {bad[:80]}"
    with pytest.raises(InvalidArgumentError, match="Instance not found: "):
        registry.touch_instance(bad)


def test_bad_instances_are_refused(world: World, registry: Registry) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    for name, folder, pid in (
        ("", ".", os.getpid()),
        ("a", "\0", os.getpid()),
        ("a", ".", 0),
        ("a", ".", child.pid),
        ("a", ".", 2**70),
    ):
        with pytest.raises(InvalidArgumentError):
            registry.register_instance(name, folder, pid=pid)
    assert world.rows() == []


def test_a_project_tells_what_is_known_of_it(world: World, registry: Registry) -> None:
    place = world.folder_of("app")
    world.remotes[place] = {"remote": "https://example.org/acme/app.git", "repo_name": "acme/app"}
    made = registry.ensure_project("app/")
    assert made == {
        "id": made["id"], "name": "acme/app", "path": place, "git_remote": "https://example.org/acme/app.git",
        "repo_name": "acme/app", "last_activity_at": FIRST, "created_at": FIRST, "updated_at": FIRST,
    }  # fmt: skip
    assert len(made["id"]) == 8
    world.now += 60
    assert registry.ensure_project(place, "another") == {**made, "last_activity_at": "2023-11-14T22:14:20.000Z"}
    plain = registry.create(world.folder_of("no-git"))
    assert plain == {
        "id": plain["id"], "name": "no-git", "path": world.folder_of("no-git"),
        "created_at": "2023-11-14T22:14:20.000Z", "updated_at": "2023-11-14T22:14:20.000Z",
    }  # fmt: skip
    assert world.events() == [("project:created", made["id"]), ("project:created", plain["id"])]
    assert (
        registry.create(world.folder_of("x"), "  two\nlines " + "x" * 500)["name"] == ("two lines " + "x" * 500)[:200]
    )


def test_a_moved_folder_can_be_pointed_at_again(world: World, registry: Registry) -> None:
    made, other = registry.create(world.folder_of("old")), registry.create(world.folder_of("other"))
    os.rename(world.folder / "old", world.folder / "new")
    assert registry.project(made["id"]) == {**made, "missing": True}
    for bad, error in (("other", ProjectExistsError), ("old", DirectoryNotFoundError)):
        with pytest.raises(error):
            registry.move_project(made["id"], bad)
    world.remotes[str(world.folder / "new")] = {"remote": "git@example.org:a/b", "repo_name": "a/b"}
    world.events()
    moved = registry.move_project(made["id"], "new")
    assert (moved["path"], moved["name"], moved["repo_name"]) == (str(world.folder / "new"), "old", "a/b")
    assert world.events() == [("project:updated", made["id"])]
    assert registry.move_project(made["id"], "new") == moved
    assert world.events() == []
    world.folder_of("old")
    assert registry.create("old")["id"] not in (made["id"], other["id"])  # its path is free again
    with pytest.raises(ProjectExistsError):
        registry.create("new")


def test_deleting_a_project_frees_its_path_and_keeps_its_files(world: World, registry: Registry) -> None:
    place = world.folder_of("app")
    made, instance = registry.create(place)["id"], registry.register_instance("alice", "app", pid=os.getpid())
    (world.folder / "app" / "file").write_text("x")
    world.events()
    registry.delete_project(made)
    assert world.events() == [("project:deleted", made)]
    assert world.rows() == [f"instance/{instance}"]
    assert (world.folder / "app" / "file").read_text() == "x"
    with pytest.raises(ProjectNotFoundError):
        registry.delete_project(made)
    assert registry.create(place)["id"] != made


def test_an_instance_belongs_to_the_innermost_project_around_its_folder(world: World, registry: Registry) -> None:
    outer, inner = registry.create(world.folder_of("a"))["id"], registry.create(world.folder_of("a/b"))["id"]
    for folder, expected in (("a/b/c", inner), ("a/b", inner), ("a/bc", outer), ("a", outer), ("ab", None)):
        instance = registry.register_instance("alice", folder, pid=os.getpid())
        (told,) = registry.instances()
        assert told.get("project") == expected
        registry.close_instance(instance)
        world.now += 1


def test_instances_are_told_oldest_first(world: World, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(world.folder / "home"))
    assert registry.instances() == []
    made = []
    for name in ("one", "two", "three"):
        made.append(registry.register_instance(name, f"~/{name}", pid=os.getpid()))
        world.now += 1
    first, second, third = made
    registry.touch_instance(third)
    assert registry.instances() == [
        {"id": first, "name": "one", "dir": "~/one", "status": "idle"},
        {"id": second, "name": "two", "dir": "~/two", "status": "idle"},
        {"id": third, "name": "three", "dir": "~/three", "status": "working"},
    ]
    registry.close_instance(first)
    registry.close_instance(first)
    assert [each["id"] for each in registry.instances()] == [second, third]
    events = world.events()
    assert len(events) == 3 + 1 + 1
    assert events[-1] == ("instance:changed", first, "closed")


def test_a_sign_of_life_counts_for_the_project(world: World, registry: Registry) -> None:
    made = registry.create(world.folder_of("app"))["id"]
    instance = registry.register_instance("alice", "app/src", pid=os.getpid())
    world.events()
    world.now += 1
    registry.touch_instance(instance)
    assert registry.project(made)["last_activity_at"] == "2023-11-14T22:13:21.000Z"
    assert world.events() == [("instance:changed", instance, "working")]


def test_an_instance_works_for_ten_seconds_after_a_call(world: World, registry: Registry) -> None:
    instance = registry.register_instance("client", ".", pid=os.getpid())

    def status() -> str:
        return str(registry.instances()[0]["status"])

    assert status() == "idle"
    world.events()
    registry.touch_instance(instance)
    assert world.events() == [("instance:changed", instance, "working")]
    world.now += 10
    assert status() == "working"
    registry.touch_instance(instance)
    assert world.events() == []
    world.now += 10.5
    assert status() == "idle"


def test_an_instance_whose_process_died_has_ended_at_the_next_look(world: World, registry: Registry) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    here = registry.register_instance("here", ".", pid=os.getpid())
    there = registry.register_instance("there", ".", pid=child.pid)
    assert len(registry.instances()) == 2
    child.kill()
    child.communicate()
    world.events()
    assert [each["id"] for each in registry.instances()] == [here]
    assert world.events() == [("instance:changed", there, "closed")]


def test_another_process_of_the_same_number_is_not_the_one_that_was_registered(
    world: World, registry: Registry
) -> None:
    instance = registry.register_instance("here", ".", pid=os.getpid())
    row = world.journal.registry.get(f"instance/{instance}")
    assert row is not None
    assert row.value["mark"] == process_mark(os.getpid())
    start, boot, space = row.value["mark"].split("-")
    if start == "0":
        pytest.skip("the system does not tell when a process started")

    def marked(mark: str) -> None:
        found = world.journal.registry.get(row.key)
        value, revision = {**row.value, "mark": mark}, found.revision if found else 0
        assert world.journal.registry.put([replace(row, value=value, used=START, revision=revision)])

    marked(f"{int(start) + 1}-{boot}-{space}")
    assert registry.instances() == []
    marked(f"{start}-{boot}-{int(space, 16) + 1:x}")
    assert len(registry.instances()) == 1  # of another container: alive, as far as anybody here can tell
    world.now += DAY + 1
    assert registry.instances() == []


def test_an_instance_that_ended_is_forgotten(world: World, registry: Registry) -> None:
    instance = registry.register_instance("alice", ".", pid=os.getpid())
    registry.close_instance(instance)
    assert world.rows() == []
    with pytest.raises(InvalidArgumentError, match=f"Instance not found: {instance}"):
        registry.touch_instance(instance)
