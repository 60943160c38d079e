"""A process that works on a journal and says what it does, a line a fact.

Usage: python -m tests.support.journal_worker STATE TASK [ARGUMENTS]; the tasks are the functions of `TASKS`.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from filetools.errors import FileToolsError
from filetools.journal.commit import CommitDraft
from filetools.journal.journal import Journal
from filetools.journal.records import Change
from filetools.journal.storage.gate import Gate
from filetools.models.records import Actor, ChangeRecord, Operation
from filetools.models.words import Durability
from tests.support.inside import database_of

_ACTOR = Actor(kind="agent", id="worker")


def say(*facts: object) -> None:
    os.write(1, f"{' '.join(map(str, facts))}\n".encode())


def wait() -> None:
    os.read(0, 1)


def save(journal: Journal, key: str, content: bytes, *, actor: str = "worker") -> ChangeRecord:
    """Commit new bytes of a path and mark that the file carries them."""
    (record,) = journal.commit([_draft(journal, key, content)], Actor(kind="agent", id=actor))
    journal.marks.applied([record.number])
    return record


def _draft(journal: Journal, key: str, content: bytes) -> Change:
    view = journal.view(key)
    return Change(
        operation=Operation.MODIFY,
        path=key,
        key=key,
        before=view.head.version if view.head is not None else None,
        after="sha256:" + hashlib.sha256(content).hexdigest(),
        content=content,
        size=len(content),
    )


def count(state: Path, name: str, commits: str) -> None:
    """Raise the counter of a shared path so often, beside others; say the worst wait in seconds."""
    journal = Journal(state, durability="relaxed")
    say("ready")
    wait()
    worst, done = 0.0, 0
    while done < int(commits):
        asked = time.monotonic()
        journal.turn_gate.enter()
        seen = journal.view("counter")
        version = None if seen.head is None else seen.head.version
        value = 0 if version is None else int(journal.contents.get(version))
        save(journal, "counter", b"%d" % (value + 1), actor=name)
        journal.turn_gate.leave()
        done += 1
        worst = max(worst, time.monotonic() - asked)
    say(worst)
    journal.close()


def hold(state: Path) -> None:
    """Stand in the gate until told to leave."""
    gate = Gate(state)
    with gate:
        say("holding")
        wait()
    say("left")


def commit(state: Path, durability: Durability, commits: str, size: str, prefix: str = "f") -> None:
    """Commit so often, for ever if 0, at paths that begin like this, and say each number after its commit."""
    journal = Journal(state, durability=durability)
    say("ready")
    done = 0
    while done < int(commits) or commits == "0":
        record = save(journal, f"{prefix}{done % 7}", os.urandom(int(size)))
        done += 1
        say("committed", record.number)


def group(state: Path, drafts: str, each: str, size: str) -> None:
    """Commit so many drafts together, so often."""
    journal = Journal(state)
    save(journal, "warm", b"up")
    say("begin")
    for _ in range(int(each)):
        several = [_draft(journal, f"t{index}", os.urandom(int(size))) for index in range(int(drafts))]
        outcomes = journal.commit_all([CommitDraft(changes=[one], actor=_ACTOR) for one in several])
        journal.marks.applied(outcome[0].number for outcome in outcomes if isinstance(outcome, tuple))
    say("end")


def outlive(state: Path) -> None:
    """Commit ten times whatever fails, and say what became of each."""
    journal = Journal(state)
    save(journal, "first", b"1")
    say("begin")
    for turn in range(10):
        try:
            say("committed", save(journal, f"f{turn}", b"%d" % turn).path)
        except FileToolsError as exc:
            say("failed", exc.code, type(exc).__name__)
    journal.close()


def fold(state: Path) -> None:
    """Copy the write-ahead file into the database, and commit once more; say what became of each, and its size."""
    journal = Journal(state, durability="relaxed")
    save(journal, "large", bytes(100_000))
    say("begin")
    try:
        database_of(journal).checkpoint(at_least_bytes=0)
    except FileToolsError as exc:
        say("failed", exc.code, type(exc).__name__)
    save(journal, "small", b"1")
    say("size", (state / "journal.db-wal").stat().st_size)
    journal.close()


TASKS: dict[str, Callable[..., None]] = {
    "count": count, "hold": hold, "commit": commit, "group": group, "outlive": outlive, "fold": fold,
}  # fmt: skip


def run_as_child(state: Path, arguments: Sequence[str], hears: int, says: int) -> NoReturn:
    """Run a task in a forked child, talking through pipes; never returns."""
    signal.alarm(60)
    code = 1
    try:
        os.dup2(hears, 0)
        os.dup2(says, 1)
        TASKS[arguments[0]](state, *arguments[1:])
        code = 0
    except BaseException:  # noqa: BLE001  # a forked child must not go on as its parent
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    TASKS[sys.argv[2]](Path(sys.argv[1]), *sys.argv[3:])
    os._exit(0)
