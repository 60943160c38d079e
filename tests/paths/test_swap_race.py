from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from filetools.errors import FileToolsError
from filetools.paths.resolver import NEW_FILE_FLAGS
from filetools.paths.root import ResolverChoice
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from tests.support.dose import dose
from tests.support.swapper import CASES, INSIDE, KINDS, OUTSIDE, Kind, Swapper, SwapTree, plant

OUTSIDE_NAME = "/outside"

RESOLVERS: tuple[ResolverChoice, ...] = ("openat2", "walk")


@pytest.fixture(params=RESOLVERS)
def resolver(request: pytest.FixtureRequest) -> ResolverChoice:
    choice: ResolverChoice = request.param
    return choice


@contextlib.contextmanager
def raced(tree: SwapTree, resolver: ResolverChoice) -> Iterator[tuple[Workspace, WorkspacePath]]:
    # Opened first: the root itself is never exchanged.
    workspace = Workspace.open(tree.root, resolver=resolver)
    try:
        with Swapper(tree):
            yield workspace, workspace.resolve(tree.path)
    finally:
        workspace.close()


def read_all(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


def tally(times: int, attempt: Callable[[], object]) -> tuple[int, int]:
    """Return how often `attempt` succeeded, and how often it was refused with a typed error."""
    done = refused = 0
    messages = set()
    for _ in range(times):
        try:
            attempt()
        except FileToolsError as exc:
            messages.add(exc.message)
            refused += 1
        else:
            done += 1
    assert not [message for message in messages if OUTSIDE_NAME in message]
    return done, refused


def test_harness_beats_an_implementation_that_checks_and_then_opens(tmp_path: Path) -> None:
    tree = plant(tmp_path, "absolute", 1)
    name = str(tree.root / tree.path)
    root = os.path.realpath(tree.root)

    def naive() -> bytes:
        with contextlib.suppress(OSError):  # realpath itself trips over the exchange now and then
            if os.path.commonpath((os.path.realpath(name), root)) == root:
                return read_all(os.open(name, os.O_RDONLY))
        return b""

    with Swapper(tree):
        assert any(naive() == OUTSIDE for _ in range(500_000))


def test_harness_beats_the_resolver_for_systems_without_descriptors(tmp_path: Path) -> None:
    with raced(plant(tmp_path, "absolute", 1), "checked") as (workspace, path):
        assert any(escapes(workspace, path) for _ in range(500_000))


def escapes(workspace: Workspace, path: WorkspacePath) -> bool:
    try:
        return read_all(workspace.open_file(path)) == OUTSIDE
    except FileToolsError:
        return False


def test_reads_meet_both_sides_of_the_exchange(tmp_path: Path, resolver: ResolverChoice) -> None:
    met = set()
    with raced(plant(tmp_path, "absolute", 1), resolver) as (workspace, path):
        for _ in range(500_000):
            met.add(is_refused(workspace, path))
            if len(met) == 2:
                break
    assert met == {True, False}


def is_refused(workspace: Workspace, path: WorkspacePath) -> bool:
    try:
        os.close(workspace.open_file(path))
    except FileToolsError:
        return True
    return False


@pytest.mark.parametrize(("kind", "position"), CASES)
def test_reads_never_leave_the_root(tmp_path: Path, resolver: ResolverChoice, kind: Kind, position: int) -> None:
    tree = plant(tmp_path, kind, position)
    times = dose(2_000) // len(CASES) + 1
    with raced(tree, resolver) as (workspace, path):

        def read() -> None:
            assert read_all(workspace.open_file(path)) == INSIDE

        done, refused = tally(times, read)
    assert done + refused == times
    tree.assert_outside_untouched()


@pytest.mark.parametrize("kind", KINDS)
def test_reads_on_the_loop_never_leave_the_root(tmp_path: Path, kind: Kind) -> None:
    tree = plant(tmp_path, kind, 1)
    with raced(tree, "openat2") as (workspace, path):

        def read() -> None:
            opened = workspace.open_file_now(path)
            assert opened is None or read_all(opened[0]) == INSIDE

        tally(dose(2_000) // len(KINDS) + 1, read)


@pytest.mark.parametrize("position", range(4))
def test_stats_never_describe_the_outside(tmp_path: Path, resolver: ResolverChoice, position: int) -> None:
    tree = plant(tmp_path, "absolute", position)
    outside = (tree.outside / tree.path).stat().st_ino
    with raced(tree, resolver) as (workspace, path):

        def look() -> None:
            found = workspace.stat(path)
            assert found is not None, "an exchange never leaves the name free"
            assert found.st_ino != outside

        tally(dose(250), look)


@pytest.mark.parametrize("position", range(3))
def test_listings_never_name_the_outside(tmp_path: Path, resolver: ResolverChoice, position: int) -> None:
    tree = plant(tmp_path, "absolute", position)
    with raced(tree, resolver) as (workspace, path):

        def scan() -> None:
            descriptor = workspace.open_directory(path.parent)
            try:
                assert os.listdir(descriptor) == [path.name]
            finally:
                os.close(descriptor)

        tally(dose(250), scan)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_never_land_outside(tmp_path: Path, resolver: ResolverChoice, kind: Kind) -> None:
    tree = plant(tmp_path, kind, 1)
    with raced(tree, resolver) as (workspace, path):
        fresh = path.parent.child("fresh")

        def change() -> None:
            parent = workspace.open_parent(fresh)
            try:
                os.close(os.open(fresh.name, NEW_FILE_FLAGS, 0o600, dir_fd=parent))
                os.unlink(fresh.name, dir_fd=parent)
            finally:
                os.close(parent)

        def clean() -> None:
            try:
                change()
            except FileToolsError:
                with contextlib.suppress(FileToolsError):
                    parent = workspace.open_parent(fresh)
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(fresh.name, dir_fd=parent)
                    os.close(parent)

        tally(dose(250), clean)
    tree.assert_outside_untouched()


@pytest.mark.parametrize("kind", ["absolute", "relative", "chain", "proc_root"])
def test_followed_links_never_leave_the_root(tmp_path: Path, resolver: ResolverChoice, kind: Kind) -> None:
    tree = plant(tmp_path, kind, 1)
    workspace = Workspace.open(tree.root, resolver=resolver, follow_symlinks=True)
    path = workspace.resolve(tree.path)

    def read() -> None:
        assert read_all(workspace.open_file(workspace.locate(path))) == INSIDE

    with Swapper(tree):
        done, refused = tally(dose(400), read)
    workspace.close()
    assert done + refused == dose(400)


@pytest.mark.parametrize("position", range(4))
def test_only_the_link_or_the_race_is_to_blame(tmp_path: Path, resolver: ResolverChoice, position: int) -> None:
    seen = set()
    with raced(plant(tmp_path, "absolute", position), resolver) as (workspace, path):
        for _ in range(dose(400)):
            try:
                os.close(workspace.open_file(path))
            except FileToolsError as exc:
                seen.add((exc.code, str(exc.details.get("target"))))
    assert {code for code, _ in seen} <= {"SYMLINK_NOT_ALLOWED", "CHANGED_MEANWHILE"}
    assert {target for _, target in seen} <= {"None"}
