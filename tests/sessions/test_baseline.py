"""What is new in folders: against a baseline, or by times alone; and files that hold still."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from filetools.errors import DirectoryScanError, InvalidArgumentError
from filetools.paths.workspace import Workspace
from filetools.paths.workspace_path import WorkspacePath
from filetools.sessions.baseline import PATTERNS, scan, settle, take_baseline
from filetools.stores.folder import FolderStore

ALL = ("*",)
HOUR = 3600.0


@pytest.fixture
def reads(tmp_path: Path) -> Iterator[FolderStore]:
    workspace = Workspace.open(tmp_path)
    yield FolderStore(workspace)
    workspace.close()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def make(folder: Path, *names: str, text: str = "one") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def later() -> float:
    """Return a moment for which all that was made until now is old."""
    return time.time() + HOUR


# What is refused


def test_a_scan_of_no_folders_is_refused(reads: FolderStore) -> None:
    with pytest.raises(ValueError, match=r"\Adirectories list cannot be empty\Z"):
        scan(reads, [], 0)


def test_a_scan_for_no_patterns_is_refused(reads: FolderStore) -> None:
    with pytest.raises(ValueError, match=r"\Afile_patterns list cannot be empty\Z"):
        scan(reads, ["out"], 0, [])


@pytest.mark.parametrize("pattern", ["", "a|b", "x" * 257])
def test_patterns_are_checked_like_exclude_patterns(reads: FolderStore, out: Path, pattern: str) -> None:
    with pytest.raises(InvalidArgumentError):
        scan(reads, ["out"], 0, [pattern])


def test_if_all_folders_fail_the_scan_fails(reads: FolderStore, tmp_path: Path) -> None:
    make(tmp_path, "file")
    with pytest.raises(DirectoryScanError) as raised:
        scan(reads, ["missing", "file"], 0)
    error = raised.value
    assert error.message == "All 2 directories failed to scan. No files discovered. This is a critical failure."
    assert (error.context, error.code) == ({"directories": ["missing", "file"]}, "DISCOVERY_FAILED")
    assert isinstance(error.cause, ExceptionGroup)
    assert [type(one).__name__ for one in error.cause.exceptions] == ["DirectoryNotFoundError", "PathNotDirectoryError"]


def test_a_missing_folder_is_a_failure_of_that_folder(reads: FolderStore, out: Path) -> None:
    make(out, "a.md")
    found, errors = scan(reads, ["missing", "out"], 0)
    assert (list(found), [str(error) for error in errors]) == (["out/a.md"], ["Directory not found: missing"])


def test_a_folder_below_that_cannot_be_read_is_told_and_the_others_are_read(reads: FolderStore, out: Path) -> None:
    make(out, "a.md", "shut/b.md")
    before = take_baseline(reads, ["out"])
    (out / "shut").rename(out / "away")
    (out / "shut").symlink_to("away")
    found, errors = scan(reads, ["out"], later(), baseline=before)
    assert ({**found}, errors) == ({"out/away/b.md": "created"}, [])


# By times alone


def test_old_files_do_not_count(reads: FolderStore, out: Path) -> None:
    make(out, "a.md")
    assert scan(reads, ["out"], later()) == ({}, [])


def test_files_of_the_default_patterns_count_sorted_and_once(reads: FolderStore, out: Path) -> None:
    make(out, "b.md", "a.json", "sub/c.txt", "d.py")
    found, _ = scan(reads, ["out", "out/sub", "."[:0]], time.time(), [*PATTERNS, "b.*"])
    assert found == dict.fromkeys(["out/a.json", "out/b.md", "out/sub/c.txt"], "created")
    assert list(found) == sorted(found)


def test_folders_below_can_be_left_out(reads: FolderStore, out: Path) -> None:
    make(out, "a.md", "sub/c.md")
    assert list(scan(reads, ["out"], time.time(), recursive=False)[0]) == ["out/a.md"]


def test_a_time_that_was_set_back_hides_nothing(reads: FolderStore, out: Path) -> None:
    make(out, "a.md")
    os.utime(out / "a.md", (0, 0))
    assert list(scan(reads, ["out"], time.time() - HOUR)[0]) == ["out/a.md"]


def test_clocks_may_be_two_seconds_behind(reads: FolderStore, out: Path) -> None:
    make(out, "a.md", "b.md")
    changed = (out / "a.md").stat().st_mtime
    assert list(scan(reads, ["out"], changed + 1.5)[0]) == ["out/a.md", "out/b.md"]
    assert list(scan(reads, ["out"], changed + 60)[0]) == []


def test_a_file_older_than_the_run_is_modified(reads: FolderStore, out: Path) -> None:
    make(out, "a.md")
    start = time.time() + HOUR
    os.utime(out / "a.md", (start, start))
    if reads.birth_ns(WorkspacePath("out/a.md")) is None:
        pytest.skip("this system keeps no time of birth")
    assert scan(reads, ["out"], start)[0] == {"out/a.md": "modified"}


# Against a baseline


def test_an_untouched_file_is_not_picked_up_however_young(reads: FolderStore, out: Path) -> None:
    make(out, "a.md")
    assert scan(reads, ["out"], 0, ALL, baseline=take_baseline(reads, ["out"])) == ({}, [])


def test_new_changed_and_gone_files_are_told(reads: FolderStore, out: Path) -> None:
    make(out, "same", "longer", "gone", "sub/gone")
    before = take_baseline(reads, ["out"])
    make(out, "new", "longer", text="more")
    (out / "gone").unlink()
    (out / "sub/gone").unlink()
    assert scan(reads, ["out"], later(), ALL, baseline=before)[0] == {
        "out/gone": "deleted", "out/longer": "modified", "out/new": "created", "out/sub/gone": "deleted",
    }  # fmt: skip


def test_a_restored_time_hides_no_change(reads: FolderStore, out: Path) -> None:
    make(out, "a")
    os.utime(out / "a", (1, 1))
    before = take_baseline(reads, ["out"])
    make(out, "a", text="two")
    os.utime(out / "a", (1, 1))
    assert scan(reads, ["out"], later(), ALL, baseline=before)[0] == {"out/a": "modified"}


def test_a_file_that_was_replaced_by_one_of_the_same_size_and_time_is_modified(reads: FolderStore, out: Path) -> None:
    make(out, "a", "b")
    os.utime(out / "a", (1, 1))
    os.utime(out / "b", (1, 1))
    before = take_baseline(reads, ["out"])
    (out / "b").rename(out / "a")
    assert scan(reads, ["out"], later(), ALL, baseline=before)[0] == {"out/a": "modified", "out/b": "deleted"}


def test_a_file_changed_within_the_tick_of_the_clock_is_modified(reads: FolderStore, out: Path) -> None:
    """Its bytes are compared, whatever its times say."""
    make(out, "a")
    before = take_baseline(reads, ["out"])
    assert list(before.versions) == ["out/a"]
    same = {"out/a": before.files["out/a"]}
    with (out / "a").open("r+") as file:
        file.write("two")
    os.utime(out / "a", ns=(0, before.files["out/a"][2]))
    now = reads.stat(WorkspacePath("out/a"))
    assert now is not None
    assert same["out/a"][:3] == now.identity[1:4]
    assert scan(reads, ["out"], later(), ALL, baseline=before)[0] == {"out/a": "modified"}


def test_a_young_file_that_only_got_another_mode_is_as_it_was(reads: FolderStore, out: Path) -> None:
    make(out, "a")
    before = take_baseline(reads, ["out"])
    (out / "a").chmod(0o600)
    assert scan(reads, ["out"], later(), ALL, baseline=before)[0] == {}


def test_a_young_file_that_was_touched_is_modified(reads: FolderStore, out: Path) -> None:
    make(out, "a")
    before = take_baseline(reads, ["out"])
    os.utime(out / "a", (1, 1))
    assert scan(reads, ["out"], later(), ALL, baseline=before)[0] == {"out/a": "modified"}


def test_a_folder_that_comes_counts_and_one_that_goes_is_no_failure(reads: FolderStore, tmp_path: Path) -> None:
    make(tmp_path, "goes/a")
    before = take_baseline(reads, ["goes", "comes"])
    (tmp_path / "goes").rename(tmp_path / "comes")
    assert scan(reads, ["goes", "comes"], later(), ALL, baseline=before) == (
        {"comes/a": "created", "goes/a": "deleted"}, [],
    )  # fmt: skip


def test_patterns_hold_for_what_is_gone_as_well(reads: FolderStore, out: Path) -> None:
    make(out, "a.md", "b.bin")
    before = take_baseline(reads, ["out"])
    (out / "a.md").unlink()
    (out / "b.bin").unlink()
    assert scan(reads, ["out"], later(), baseline=before)[0] == {"out/a.md": "deleted"}


# What never counts


def test_links_folders_pipes_state_and_temporary_files_do_not_count(reads: FolderStore, out: Path) -> None:
    make(out, "real.md", ".filetools/journal.db", "node_modules/x.md", ".a.md.swp", "a.md~", "b.md.tmp", ".#c.md")
    make(out, "d.md.tmp.4711.1761748222", ".ft-0123456789abcdef", ".goutputstream-ABCDEF", "e.part", ".git/HEAD")
    (out / "link.md").symlink_to("real.md")
    (out / "folder.md").mkdir()
    (out / "loop").symlink_to(".")
    os.mkfifo(out / "pipe.md")
    assert list(scan(reads, ["out"], 0, ALL)[0]) == ["out/real.md"]
    assert list(take_baseline(reads, ["out"]).files) == ["out/real.md"]


def test_a_folder_that_is_a_link_is_not_followed(reads: FolderStore, out: Path, tmp_path: Path) -> None:
    make(out, "a.md")
    (tmp_path / "link").symlink_to("out")
    with pytest.raises(DirectoryScanError):
        scan(reads, ["link"], 0)


# Files that hold still


def test_a_file_that_never_holds_still_is_waited_for_one_second(reads: FolderStore, out: Path) -> None:
    make(out, "a", "b")
    pauses = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        with (out / "a").open("a") as file:
            file.write("more")

    paths = [WorkspacePath("out/a"), WorkspacePath("out/b")]
    assert settle(reads, paths, pause=pause) == {"out/a"}
    assert sum(pauses) == pytest.approx(1.0)


def test_two_equal_looks_are_enough(reads: FolderStore, out: Path) -> None:
    make(out, "a")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            make(out, "a", text="longer")

    assert (settle(reads, [WorkspacePath("out/a")], pause=pause), pauses) == (set(), [0.05, 0.05])


def test_nothing_is_waited_for_where_there_is_nothing(reads: FolderStore) -> None:
    assert settle(reads, [], pause=lambda _: pytest.fail("it waited")) == set()


def test_a_file_that_goes_meanwhile_holds_still(reads: FolderStore, out: Path) -> None:
    make(out, "a")
    assert settle(reads, [WorkspacePath("out/a")], pause=lambda _: (out / "a").unlink(missing_ok=True)) == set()
