"""The results of `file_info`, `versions` and `status`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict

from filetools.changes.parts import Parts
from filetools.content.facts import inspect
from filetools.errors import FileToolsError, PathNotFoundError
from filetools.models.files import InfoResult, VersionEntry, VersionsResult
from filetools.models.records import EXTERNAL, WITHOUT_BYTES, Operation, RecordState
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.listing import moment
from filetools.stores.reading import LARGEST
from filetools.stores.store import FileStat


def describe(
    parts: Parts, path: WorkspacePath, holder_of: Callable[[str], object], *, times: bool = False
) -> InfoResult:
    """Return the facts about a path; call it in a worker thread.

    Args:
        parts: The workspace.
        path: The path.
        holder_of: Returns who is changing the path of a key, or None.
        times: True to add the times of creation and last access.

    Raises:
        PathNotFoundError: The path does not exist.
    """
    stat = parts.store.stat(path)
    if stat is None:
        raise PathNotFoundError(path)
    key = parts.workspace.key(path)
    return InfoResult(
        path=path,
        name=path.name,
        type=stat.type,
        size=stat.size if stat.type == "file" else None,
        modified=moment(stat.modified_ns),
        mode=f"{stat.mode:o}",
        links=stat.links,
        locked=holder_of(key) is not None,
        last_change=_last_change(parts, key),
        **(_times(parts, path) if times else {}),
        **(_content_facts(parts, path, stat) if stat.type == "file" else {}),
    )


def _times(parts: Parts, path: WorkspacePath) -> dict[str, Any]:
    born_ns, found = parts.workspace.birth_ns(path), parts.workspace.stat(path)
    return {
        "created": None if born_ns is None else moment(born_ns),
        "accessed": None if found is None else moment(max(-LARGEST, min(found.st_atime_ns, LARGEST))),
    }


def _content_facts(parts: Parts, path: WorkspacePath, stat: FileStat) -> dict[str, Any]:
    facts = parts.facts.get(stat.identity)
    if facts is None:
        if stat.size > parts.settings.max_read_bytes:
            return {}
        taken_ns = time.time_ns()
        content, stat = parts.store.read(path)
        facts, _ = inspect(content, name=path)
        parts.facts.put(stat.identity, facts, taken_ns=taken_ns)
    return {
        "version": facts.version,
        "encoding": None if facts.text_format is None else facts.text_format.encoding,
        "newline": facts.newline,
        "bom": None if facts.text_format is None else bool(facts.text_format.bom),
        "total_lines": facts.total_lines,
        "is_binary": facts.text_format is None,
        "mime_type": facts.mime_type,
    }


def _last_change(parts: Parts, key: str) -> dict[str, Any] | None:
    newest = parts.journal.records(key=key, limit=1, newest_first=True)
    if not newest:
        return None
    record = newest[0]
    return {"number": record.number, "actor": asdict(record.actor), "time": record.time, "operation": record.operation}


def history(parts: Parts, path: WorkspacePath, limit: int) -> VersionsResult:
    """Return the recorded versions of a path, newest first, including displaced and foreign ones."""
    found = parts.journal.records(key=parts.workspace.key(path), limit=limit, newest_first=True)
    records = [record for record in found if record.operation not in WITHOUT_BYTES]
    entries = [
        VersionEntry(
            version=record.after,
            number=record.number,
            operation=record.operation.value,
            actor=asdict(record.actor),
            time=record.time,
            size=record.size,
            kept=parts.journal.contents.has(record.after),
        )
        for record in records
        if record.after is not None and parts.workspace.resolve(record.path) == path
    ]
    # Records of unsaved text, and of versions that were never the head, say nothing about the file.
    in_file = (record for record in reversed(records) if record.state in (RecordState.APPLIED, RecordState.PENDING))
    first = next(in_file, None) if len(found) < limit else None
    if first is not None and first.before and all(entry.version != first.before for entry in entries):
        # The version from before the first record of the path.
        entries.append(
            VersionEntry(
                version=first.before, number=0, operation=Operation.FOUND.value, actor=asdict(EXTERNAL), time=first.time,
                kept=parts.journal.contents.has(first.before),
            )
        )  # fmt: skip
    return VersionsResult(path=path, versions=entries)


def _open_documents(parts: Parts) -> list[dict[str, Any]]:
    """Return the open documents of all processes."""
    handles = parts.journal.documents.handles()
    return [
        {
            "path": document.path,
            "dirty": document.is_dirty,
            "buffer_version": document.version,
            "editors": sorted({handle.actor.id for handle in handles if handle.document_id == document.id}),
        }
        for document in parts.journal.documents.all()
    ]


def status(parts: Parts) -> dict[str, Any]:
    """Return the state of a workspace; call it in a worker thread."""
    unrestored = parts.journal.marks.unfinished("unrestored")
    problem: str | None = None
    try:
        parts.workspace.check_alive()
    except FileToolsError as exc:
        problem = exc.message
    refusal = parts.gatekeeper.refusal
    return {
        "root": parts.workspace.root.name,
        "epoch": parts.journal.epoch,
        "position": parts.journal.positions().newest,
        "pending": len(parts.journal.marks.unfinished("pending")),
        "unrestored": list(dict.fromkeys(record.path for record in unrestored)),
        "mirrors": parts.sync.status(),
        "documents": _open_documents(parts),
        "retention": _retention(parts),
        "durability": parts.settings.durability,
        "permissions": parts.settings.permissions,
        "problem": problem,
        "polling": parts.observer.polling,
        "read_only": None if refusal is None else refusal.message,
    }


def _retention(parts: Parts) -> dict[str, Any]:
    held, settings = parts.journal.retention.retained(), parts.settings
    is_over = held.bytes > settings.retention_bytes or held.records > settings.retention_records
    return {
        "bytes": held.bytes,
        "bytes_limit": settings.retention_bytes,
        "records": held.records,
        "records_limit": settings.retention_records,
        "checkpoint": held.checkpoint,
        "held_records": held.held_records,
        "held_over_limit": is_over and held.checkpoint is not None,
    }
