"""The contract of every journal: bytes are kept by their hash and verified, or reported as gone."""

from __future__ import annotations

import os

import pytest

from filetools.errors import VersionGoneError
from filetools.journal.journal import Journal
from filetools.journal.storage.contents import LARGEST_ROW_BYTES
from tests.support.journals import OpenJournal, put
from tests.support.journals import version as v

SIZES = [0, 1, 5000, LARGEST_ROW_BYTES, LARGEST_ROW_BYTES + 1, 5_000_000]


def test_an_unknown_version_is_gone(journal: Journal) -> None:
    assert not journal.contents.has(v(b"nothing"))
    with pytest.raises(VersionGoneError):
        journal.contents.get(v(b"nothing"))


@pytest.mark.parametrize("size", SIZES)
def test_bytes_of_any_size_come_back(open_journal: OpenJournal, size: int) -> None:
    content = os.urandom(size)
    journal = open_journal()
    put(journal, "a", content)
    assert journal.contents.has(v(content))
    assert journal.contents.get(v(content)) == content
    assert open_journal().contents.get(v(content)) == content


@pytest.mark.parametrize("size", [3, LARGEST_ROW_BYTES + 1])
def test_bytes_are_kept_without_a_record(journal: Journal, size: int) -> None:
    content = os.urandom(size)
    journal.contents.keep(content, v(content))
    assert journal.contents.get(v(content)) == content
    assert journal.positions().newest == 0


def test_large_bytes_put_ahead_belong_to_nobody_before_the_commit(journal: Journal) -> None:
    content = os.urandom(LARGEST_ROW_BYTES + 1)
    journal.contents.put_all({v(content): content})
    assert not journal.contents.has(v(content))
    put(journal, "a", content)
    assert journal.contents.get(v(content)) == content


def test_a_version_recorded_without_bytes_is_known_but_gone(journal: Journal) -> None:
    put(journal, "a", b"too large to keep", content=None)
    assert not journal.contents.has(v(b"too large to keep"))
    with pytest.raises(VersionGoneError):
        journal.contents.get(v(b"too large to keep"))


@pytest.mark.parametrize("size", [5000, LARGEST_ROW_BYTES + 1])
def test_a_text_that_was_only_read_counts_as_kept_once_a_record_needs_it(journal: Journal, size: int) -> None:
    """It was not synced: a power cut may have left other bytes in its place."""
    content = os.urandom(size)
    journal.contents.keep_read({v(content): content})
    assert not journal.contents.has(v(content))
    put(journal, "a", content)
    assert journal.contents.has(v(content))
    assert journal.contents.get(v(content)) == content
