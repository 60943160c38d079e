"""The count at the end: what those who worked say they did, against what lies on disk, in the mirror and in the journal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from filetools.cli.demo.marks import is_whole, marks_in
from filetools.cli.demo.readers import Reader
from filetools.cli.demo.stage import Stage, read_tree
from filetools.facade.facade import FileToolsFacade
from filetools.models.records import ChangeRecord
from filetools.models.words import VERSION_PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the table at the end."""

    name: str
    value: str
    holds: bool = True
    """False if what the demo promises is not so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What there is at the end, before anybody judges it."""

    tree: dict[str, bytes]
    mirror: dict[str, bytes]
    records: tuple[ChangeRecord, ...]
    foreign_versions: tuple[bytes, ...]
    """Bytes of every version that the journal says a foreign program made."""
    pending: int


async def gather(stage: Stage) -> Evidence:
    """Wait until nothing is under way any more, and collect what there is."""

    async def is_quiet() -> bool:
        # The mirror last: what a foreign change makes it owe is known only once that change is in the journal.
        return not _disagreeing(await _collect(stage), stage.originals) and await stage.is_mirror_up()

    await stage.until(is_quiet)
    return await _collect(stage)


def findings(stage: Stage, evidence: Evidence, reader: Reader) -> list[Finding]:
    """Judge the evidence."""
    ledger, tree = stage.ledger, evidence.tree
    on_disk, in_mirror = _marks_of(tree.values()), _marks_of(evidence.mirror.values())
    recorded = _marks_of(evidence.foreign_versions)
    lost = (ledger.acknowledged - on_disk) | (ledger.foreign.keys() - on_disk - recorded)
    broken = {path for path, content in tree.items() if not is_whole(content, stage.originals.get(path, b""), path)}
    torn = len(reader.torn) + len(broken | (stage.originals.keys() - tree.keys()))
    unrecorded = ledger.foreign.keys() - recorded
    disagreeing = _disagreeing(evidence, stage.originals)
    differing = {path for path in tree | evidence.mirror if tree.get(path) != evidence.mirror.get(path)}
    done = ledger.made & (ledger.acknowledged | ledger.foreign.keys())
    cut_off = ledger.made - done - ledger.refused - ledger.undone - ledger.unsaved
    shares = {
        "done": done,
        "refused": ledger.refused,
        "taken back": ledger.undone,
        "cut off": cut_off,
        "in unsaved text": ledger.unsaved,
    }
    sum_of = ", ".join(f"{len(marks)} {what}" for what, marks in shares.items() if marks)
    unwanted = (ledger.undone | ledger.refused) & on_disk
    return [
        Finding(name="edits begun", value=f"{len(ledger.made)}: {sum_of}", holds=bool(ledger.made)),
        Finding(name="lost", value=f"{len(lost)} of {len(done)} that were done", holds=not lost),
        Finding(name="merged", value=f"{ledger.merged} changes that met others': the file has both"),
        Finding(
            name="refused or taken back",
            value=f"{len(unwanted)} of {len(ledger.refused | ledger.undone)} are in a file",
            holds=not unwanted,
        ),
        Finding(name="torn", value=f"{torn} of {reader.reads} reads by another program", holds=not torn),
        Finding(
            name="foreign changes recorded",
            value=f"{len(ledger.foreign) - len(unrecorded)} of {len(ledger.foreign)} by a shell and scripts",
            holds=not unrecorded,
        ),
        Finding(
            name="recovered after the kill",
            value=f"{ledger.unfinished_at_kill - evidence.pending} of {ledger.unfinished_at_kill} that were not carried out",
            holds=not evidence.pending,
        ),
        Finding(name="journal equals disk", value=_verdict(disagreeing), holds=not disagreeing),
        Finding(
            name="mirror caught up",
            value=f"{len(ledger.missed_by_mirror & in_mirror)} of {len(ledger.missed_by_mirror)} lines it had missed",
            holds=ledger.missed_by_mirror <= in_mirror,
        ),
        Finding(name="mirror equal", value=_verdict(differing), holds=not differing),
    ]


async def _collect(stage: Stage) -> Evidence:
    records = await _all_records(stage.files)
    versions = {record.after: record.path for record in records if record.after and record.actor.kind == "external"}
    foreign = [(await stage.files.read_file(path, version=version)).content for version, path in versions.items()]
    return Evidence(
        tree=read_tree(stage.root),
        mirror=read_tree(stage.mirror),
        records=records,
        foreign_versions=tuple(content.encode("utf-8") for content in foreign),
        pending=(await stage.files.status())["pending"],
    )


async def _all_records(files: FileToolsFacade) -> tuple[ChangeRecord, ...]:
    records: list[ChangeRecord] = []
    position = None
    while True:
        page = await files.changes(position)
        records += page.records
        if page.position == position:
            return tuple(records)
        position = page.position


def _disagreeing(evidence: Evidence, originals: dict[str, bytes]) -> set[str]:
    """Return the paths whose bytes on disk are not the last that the journal tells of, or, untold of, the first."""
    last = {path: _version(content) for path, content in originals.items()}
    for record in evidence.records:
        if record.after is not None:
            last[record.path] = record.after
        else:
            last.pop(record.path, None)
    found = {path: _version(content) for path, content in evidence.tree.items()}
    return {path for path in last | found if last.get(path) != found.get(path)}


def _version(content: bytes) -> str:
    return VERSION_PREFIX + hashlib.sha256(content).hexdigest()


def _marks_of(contents: Iterable[bytes]) -> set[str]:
    return {mark for content in contents for mark in marks_in(content)}


def _verdict(wrong: set[str]) -> str:
    return "yes" if not wrong else f"no: {', '.join(sorted(wrong)[:3])}"
