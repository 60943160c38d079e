"""The contract of every journal: bytes are kept by their hash and verified, or said to be gone."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from filetools.errors import VersionGoneError
from filetools.journal.contents import LARGEST_ROW_BYTES
from filetools.journal.database import Database
from filetools.journal.journal import Journal
from filetools.journal.segments import LARGEST_ENTRY_BYTES
from tests.support.journals import ALICE, OpenJournal, draft, put
from tests.support.journals import version as v

SIZES = [0, 1, 5000, LARGEST_ROW_BYTES, LARGEST_ROW_BYTES + 1, 1_000_000, LARGEST_ENTRY_BYTES, LARGEST_ENTRY_BYTES + 1]


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


@pytest.mark.parametrize("size", [3, LARGEST_ROW_BYTES + 1, LARGEST_ENTRY_BYTES + 1])
def test_bytes_are_kept_without_a_record(journal: Journal, size: int) -> None:
    content = os.urandom(size)
    journal.contents.keep(content, v(content))
    assert journal.contents.get(v(content)) == content
    assert journal.position() == 0


@pytest.mark.parametrize("size", [LARGEST_ROW_BYTES + 1, LARGEST_ENTRY_BYTES + 1])
def test_large_bytes_put_ahead_belong_to_nobody_before_the_commit(journal: Journal, size: int) -> None:
    content = os.urandom(size)
    journal.contents.put(content, v(content))
    assert not journal.contents.has(v(content))
    put(journal, "a", content)
    assert journal.contents.get(v(content)) == content


def test_every_former_version_stays_readable(journal: Journal) -> None:
    contents = [b"%d" % index for index in range(20)]
    for content in contents:
        put(journal, "a", content)
    put(journal, "a", None)
    assert [journal.contents.get(v(content)) for content in contents] == contents


def test_a_version_recorded_without_bytes_is_known_but_gone(journal: Journal) -> None:
    put(journal, "a", b"too large to keep", content=None)
    assert not journal.contents.has(v(b"too large to keep"))
    with pytest.raises(VersionGoneError):
        journal.contents.get(v(b"too large to keep"))


def test_bytes_of_a_refused_commit_are_not_kept(journal: Journal) -> None:
    late = draft(journal, "a", b"mine")
    put(journal, "a", b"1")
    with pytest.raises(Exception, match="a"):
        journal.commit([late], ALICE)
    assert not journal.contents.has(v(b"mine"))


@pytest.mark.parametrize("count", [3, 30])
def test_texts_that_were_read_are_kept_together_and_nothing_is_synced(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    texts = {v(content): content for content in (os.urandom(5000) for _ in range(count))}
    synced: list[int] = []
    commits: list[bool] = []
    write = Database.write

    def counted(database: Database, work: Callable[[Any], Any], *, durable: bool = True, **options: Any) -> Any:
        commits.append(durable)
        return write(database, work, durable=durable, **options)

    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr(os, "fdatasync", synced.append)
    monkeypatch.setattr(Database, "write", counted)
    journal.contents.keep_read(texts)
    journal.contents.keep_read(texts)
    assert (synced, commits) == ([], [False])
    assert {version: journal.contents.get(version) for version in texts} == texts


@pytest.mark.parametrize("size", [5000, LARGEST_ROW_BYTES + 1])
def test_a_text_that_was_only_read_counts_as_kept_once_a_record_needs_it(journal: Journal, size: int) -> None:
    """Nobody has synced it: a power cut may have left other bytes in its place."""
    content = os.urandom(size)
    journal.contents.keep_read({v(content): content})
    assert not journal.contents.has(v(content))
    put(journal, "a", content)
    assert journal.contents.has(v(content))
    assert journal.contents.get(v(content)) == content


def test_what_a_record_keeps_is_not_kept_once_more_for_being_read(journal: Journal) -> None:
    put(journal, "a", b"recorded")
    journal.contents.keep_read({v(b"recorded"): b"recorded"})
    assert journal.contents.has(v(b"recorded"))
