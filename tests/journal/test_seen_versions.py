"""Seen versions that are too old or too many are removed, with the texts that nothing else needs."""

from __future__ import annotations

import time

from filetools.journal.journal import Journal
from filetools.journal.retention import LIVE_SECONDS
from filetools.journal.seen_versions import MOST_SEEN, SeenVersion, tidy_seen_versions
from tests.support.journals import version as v

MUCH = 10**9
NOW = 1_000_000.0


def keys_of(journal: Journal, owner: str) -> list[str]:
    return [key for key, _ in journal.seen_versions.of(owner)]


def noted(journal: Journal, owner: str, count: int, *, since: float, prefix: str = "") -> None:
    """Give an actor rows, one per second."""
    journal.seen_versions.save(
        (owner, f"{prefix}{number}", SeenVersion(version=v(b"x"), base=v(b"x"), is_whole=True, time=since + number))
        for number in range(count)
    )


def test_old_rows_go_and_young_ones_stay(journal: Journal) -> None:
    for owner in ("alice", "bob"):
        noted(journal, owner, 401, since=NOW - 10_000, prefix="old-")
        noted(journal, owner, 2, since=NOW, prefix="young-")
    tidy_seen_versions(journal._database, NOW - 1)
    assert [keys_of(journal, owner) for owner in ("alice", "bob")] == [["young-0", "young-1"]] * 2


def test_of_too_many_rows_the_oldest_go(journal: Journal) -> None:
    noted(journal, "alice", MOST_SEEN + 201, since=NOW)
    noted(journal, "bob", 2, since=NOW)
    tidy_seen_versions(journal._database, 0.0)
    (rows,) = journal._database.row("SELECT count(*) FROM seen_versions WHERE owner = 'alice'")
    assert (rows, keys_of(journal, "alice")[0]) == (MOST_SEEN, "201")
    assert len(keys_of(journal, "bob")) == 2


def test_the_leader_tidies_and_texts_kept_for_old_rows_alone_go_at_once(journal: Journal) -> None:
    now = time.time()
    for content, when in ((b"known", now), (b"forgotten", now - 2 * LIVE_SECONDS)):
        journal.contents.keep(content, v(content))
        row = SeenVersion(version=v(content), base=v(content), is_whole=True, time=when)
        journal.seen_versions.save([("alice", content.decode(), row)])
    journal.retention.collect(retention_bytes=0, retention_records=MUCH)
    assert keys_of(journal, "alice") == ["known"]
    assert [journal.contents.has(v(content)) for content in (b"known", b"forgotten")] == [True, False]


def test_of_too_many_rows_the_texts_of_those_that_went_are_free(journal: Journal) -> None:
    now = time.time()
    noted(journal, "alice", MOST_SEEN, since=now - MOST_SEEN)
    journal.contents.keep(b"surplus", v(b"surplus"))
    surplus = SeenVersion(version=v(b"surplus"), base=v(b"surplus"), is_whole=True, time=now - 2 * MOST_SEEN)
    journal.seen_versions.save([("alice", "surplus", surplus)])
    journal.retention.collect(retention_bytes=0, retention_records=MUCH)
    assert not journal.contents.has(v(b"surplus"))
