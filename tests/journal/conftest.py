"""Journals opened for a test. The contract does not depend on the durability."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from filetools.journal.journal import Journal
from tests.support.journals import OpenJournal


@pytest.fixture
def state(tmp_path: Path) -> Path:
    place = tmp_path / "state"
    place.mkdir()
    return place


@pytest.fixture
def open_journal(state: Path) -> Iterator[OpenJournal]:
    opened: list[Journal] = []

    def build(*, on_visible: Callable[[], None] = lambda: None) -> Journal:
        journal = Journal(state, durability="relaxed", on_visible=on_visible)
        opened.append(journal)
        return journal

    yield build
    for journal in opened:
        journal.close()


@pytest.fixture
def journal(open_journal: OpenJournal) -> Journal:
    return open_journal()
