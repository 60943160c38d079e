"""llmproc's descriptors and ours, side by side, where llmproc behaves: names, defaults, frames, messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from filetools.descriptors.descriptors import Descriptors
from filetools.errors import FileToolsError
from filetools.settings import DescriptorSettings
from tests.support.journals import MakeDescriptors

if TYPE_CHECKING:
    from llmproc.file_descriptors.manager import FileDescriptorManager

SHORT_LINES = "".join(f"{number:05}\n" for number in range(4000))
"""Lines that end where pages end, so that both cut alike."""


@pytest.fixture
def theirs() -> FileDescriptorManager:
    from llmproc.file_descriptors.manager import FileDescriptorManager  # loads what every worker would wait for

    manager = FileDescriptorManager(default_page_size=3000, page_user_input=True, enable_references=True)
    manager.create_fd_content(SHORT_LINES)
    return manager


@pytest.fixture
def ours(make: MakeDescriptors) -> Descriptors:
    descriptors = make(DescriptorSettings(default_page_size=3000, enable_references=True))
    descriptors.create(SHORT_LINES)
    return descriptors


def test_the_frame_of_a_result_is_the_same(theirs: FileDescriptorManager, ours: Descriptors) -> None:
    assert ours.create(SHORT_LINES).text() == theirs.create_fd_content(SHORT_LINES)


@pytest.mark.parametrize(
    "asked",
    [
        {"start": 1},
        {"start": 5},
        {"mode": "line", "start": 17, "count": 4},
        {"mode": "line", "start": 4000},
        {"read_all": True},
    ],
)
def test_parts_are_the_same(theirs: FileDescriptorManager, ours: Descriptors, asked: dict[str, object]) -> None:
    assert ours.read("fd:1", **asked).text() == theirs.read_fd_content("fd:1", **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [{"mode": "line", "start": 7, "count": 2}, {"mode": "char", "start": 3, "count": 9}])
def test_extracting_is_told_the_same(
    theirs: FileDescriptorManager, ours: Descriptors, asked: dict[str, object]
) -> None:
    mine = ours.read("fd:1", extract_to_new_fd=True, **asked).text()  # type: ignore[arg-type]
    assert mine == theirs.read_fd_content("fd:1", extract_to_new_fd=True, **asked)
    assert ours.text("fd:2").text == theirs.file_descriptors["fd:2"]["content"]


def test_an_unknown_id_is_told_the_same(theirs: FileDescriptorManager, ours: Descriptors) -> None:
    with pytest.raises(KeyError) as their_error:
        theirs.read_fd_content("fd:9")
    with pytest.raises(FileToolsError) as our_error:
        ours.read("fd:9")
    assert str(our_error.value) == their_error.value.args[0]


def test_where_llmproc_loses_text_ours_does_not(theirs: FileDescriptorManager, ours: Descriptors) -> None:
    one_line = "x" * 50_000
    theirs.create_fd_content(one_line)
    assert theirs.file_descriptors["fd:2"]["total_pages"] == 1  # and only 3,000 of its characters are on it
    frame = ours.create(one_line)
    pages = int(frame.attributes["pages"])
    assert "".join(ours.read("fd:2", start=page).content or "" for page in range(1, pages + 1)) == one_line
