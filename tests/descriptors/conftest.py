"""Descriptors of a journal that was opened for a test."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from filetools.descriptors.descriptors import Descriptors
from filetools.journal.journal import Journal
from tests.support.journals import MakeDescriptors


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeDescriptors]:
    """Return a function that takes the settings and returns the descriptors of an owner, "alice" by default."""
    state = tmp_path / "state"
    state.mkdir()
    journal = Journal(state, durability="relaxed")
    yield partial(Descriptors, table=journal.descriptors, contents=journal.contents, owner="alice")
    journal.close()
