"""Searches of an opened workspace: with the texts that nobody has saved yet, and stopped when nobody waits any more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

from filetools.facade.parts import Parts
from filetools.facade.progress import Abort, Looked, no_look
from filetools.facade.worker_pool import Hop, WorkerPool
from filetools.models.records import Actor
from filetools.models.searching import GrepResult
from filetools.paths.workspace_path import WorkspacePath
from filetools.search.contents.candidates import Ripgrep, find_ripgrep
from filetools.search.contents.grep import grep_page
from filetools.search.contents.options import GrepOptions
from filetools.search.contents.unsaved import Unsaved
from filetools.search.source import OpensDirectories

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Stoppable(Protocol[T_co]):
    """Work for a worker thread that asks now and then whether to stop."""

    def __call__(self, *, abort: Abort) -> T_co:
        """Do it."""


async def stoppable(crew: WorkerPool, work: Stoppable[T], abort: Abort | None) -> T:
    """Run work in a worker thread that ends soon after its caller is cancelled, or says stop."""
    hop: Hop[T] = Hop()
    return await crew.start(partial(work, abort=lambda: hop.is_cancelled or (abort is not None and abort())), hop)


def grep(
    parts: Parts,
    actor: Actor,
    path: WorkspacePath,
    options: GrepOptions,
    cursor: str | None,
    *,
    abort: Abort,
    looked: Looked = no_look,
) -> GrepResult:
    """Return one page of the matches in files and in unsaved documents, for a worker thread."""
    program = find_ripgrep() if isinstance(parts.store, OpensDirectories) else None
    candidates = None if program is None else Ripgrep(program, parts.workspace.root)
    policy = parts.gatekeeper.policy

    def is_withheld(found: WorkspacePath) -> bool:
        # A search that shows a file's lines reads it, whatever folder it was asked for.
        checks = (policy.check(tool, found, actor=actor, operation="read") for tool in ("grep_files", "read_file"))
        return not all(check.can_execute for check in checks)

    return grep_page(
        parts.store, path, options, cursor, unsaved=_unsaved(parts, path), abort=abort, candidates=candidates,
        is_withheld=is_withheld if policy.rules else None, looked=looked,
    )  # fmt: skip


def _unsaved(parts: Parts, path: WorkspacePath) -> Unsaved:
    documents, key = parts.journal.documents, parts.workspace.key(path)
    own = None if path.is_root else parts.journal.view(key).document

    def text_of(document_id: str) -> Callable[[], str | None]:
        def text() -> str | None:
            found = documents.text(document_id)
            return found[1] if found is not None and found[0].is_dirty else None

        return text

    dirty = documents.unsaved_below(key)
    if own is not None and own.is_dirty:
        dirty.append(own)
    texts = {document.key: (document.path, text_of(document.id)) for document in dirty}
    return Unsaved(texts=texts, key=parts.workspace.key)
