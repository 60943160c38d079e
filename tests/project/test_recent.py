"""The files that changed last, and how long ago that was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from filetools.errors import InvalidArgumentError
from filetools.project.folder import ProjectFolder, opened_folder
from filetools.project.recent import age, recent_files

NOW = 1_790_000_000
MINUTE, HOUR, DAY = 60, 3600, 86_400


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[ProjectFolder]:
    with opened_folder(str(tmp_path)) as folder:
        yield folder


def aged(folder: ProjectFolder, **seconds: float) -> list[str]:
    """Make files of one byte that changed so long ago."""
    for name, since in seconds.items():
        place = Path(folder.path, name)
        place.write_text("x")
        os.utime(place, ns=(0, int((NOW - since) * 1e9)))
    return [*seconds]


def names(folder: ProjectFolder, paths: list[str], **options: object) -> list[str]:
    return [each["path"] for each in recent_files(folder, paths, now=NOW, **options)["files"]]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "since", ["", " ", "soon", "2 fortnights", "-2 days", "2026-13-01", "0001-01-01", "1234567 days", "days", "\ud800"]
)
def test_what_is_no_time_is_refused_with_what_is(folder: ProjectFolder, since: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        recent_files(folder, [], since=since)
    assert caught.value.message == (
        f"since is a date or time such as '2026-05-01' or '2026-05-01T12:30', or a span such as '2 days', not {since!r}"
    )


def test_only_regular_files_that_are_there_count(folder: ProjectFolder) -> None:
    aged(folder, file=1)
    place = Path(folder.path)
    (place / "folder").mkdir()
    (place / "folder" / "in").write_text("x")
    (place / "link").symlink_to("file")
    (place / "way").symlink_to("folder")
    (place / ".filetools").mkdir()
    (place / ".filetools" / "token").write_text("x")
    os.mkfifo(place / "pipe")
    paths = [
        "folder",
        "link",
        "way/in",
        "pipe",
        "gone",
        "gone/in",
        "file/in",
        ".filetools/token",
        "../x",
        "",
        "a\0",
        "file",
    ]
    assert recent_files(folder, paths, now=NOW) == {"files": [{"path": "file", "age": "1 second ago", "size": 1}]}


def test_the_newest_come_first_and_equal_ones_by_path(folder: ProjectFolder) -> None:
    paths = aged(folder, old=300, b=20, a=20, future=-5, new=10)
    assert names(folder, paths) == ["future", "new", "a", "b", "old"]
    assert names(folder, paths, limit=2) == ["future", "new"]


def test_since_leaves_out_what_is_older(folder: ProjectFolder) -> None:
    paths = aged(folder, now=0, minute=MINUTE, hour=HOUR, day=DAY, week=7 * DAY, year=400 * DAY)
    spans = {
        "60 seconds": 2, "1 minute": 2, "1min ago": 2, "59s": 1, "60 minutes": 3, "1h": 3, "24 hours ago": 4, "1 day": 4,
        "2 DAYS": 4, "1w": 5, "12 months": 5, "2 years": 6,
    }  # fmt: skip
    assert {span: len(names(folder, paths, since=span)) for span in spans} == spans
    moment = datetime.fromtimestamp(NOW - HOUR, UTC)
    assert names(folder, paths, since=moment.isoformat()) == ["now", "minute", "hour"]
    assert names(folder, paths, since=moment.astimezone().replace(tzinfo=None).isoformat()) == ["now", "minute", "hour"]
    assert len(names(folder, paths, since=datetime.fromtimestamp(NOW - 30 * DAY, UTC).date().isoformat())) == 5


def test_names_that_are_no_utf8_are_escaped(folder: ProjectFolder) -> None:
    raw = os.fsencode(folder.path) + b"/caf\xe9\\.txt"
    with open(raw, "wb") as file:
        file.write(b"12")
    found = recent_files(folder, [os.fsdecode(b"caf\xe9\\.txt")])["files"]
    assert [(each["path"], each["size"]) for each in found] == [(r"caf\xe9\\.txt", 2)]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-0.5, "in the future"),
        (0, "0 seconds ago"),
        (1.5, "1 second ago"),
        (119, "119 seconds ago"),
        (120, "2 minutes ago"),
        (3 * HOUR, "3 hours ago"),
        (47 * HOUR, "47 hours ago"),
        (13 * DAY, "13 days ago"),
        (14 * DAY, "2 weeks ago"),
        (400 * DAY, "13 months ago"),
        (800 * DAY, "2 years ago"),
    ],
)
def test_ages_are_in_the_largest_unit_that_says_enough(seconds: float, said: str) -> None:
    assert age(seconds) == said
