"""What must be allowed before a transaction is done: asked by the tools that were called, about what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import Struct, structs

from filetools.changes.knowledge import read_as
from filetools.content.formats import UTF8, decode, encode
from filetools.content.version import version_of
from filetools.facade.parts import Parts
from filetools.facade.proposals import Preview, ShownState, Taken, taken_by
from filetools.facade.steps.step import Step
from filetools.facade.transactions.overlay import TransactionOverlay
from filetools.facade.transactions.states import Original, Written
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.gatekeeper import Permit


class ContentQuestion(Struct, frozen=True, kw_only=True):
    """One question to the permissions."""

    tool: str
    paths: Sequence[WorkspacePath]
    arguments: Mapping[str, Any]
    made: Sequence[str | bytes | None] = ()
    """What shall stand at each of the paths."""
    taken: Taken = ()
    """What goes as a whole."""

    @property
    def is_text(self) -> bool:
        """Whether it is about one file of text."""
        return len(self.made) == 1 and isinstance(self.made[0], str)

    @property
    def previews(self) -> list[Preview]:
        """What tells the same to a person."""
        return [partial(_beside, path, made) for path, made in zip(self.paths, self.made, strict=True)]


def _beside(path: WorkspacePath, made: str | bytes | None, parts: Parts, standing: ShownState) -> str | bytes | None:
    return standing.beside(parts, path, made) if isinstance(made, str) else made


def questions(
    asked: Mapping[str, Iterable[WorkspacePath]], steps: Sequence[Step], overlay: TransactionOverlay
) -> Iterator[ContentQuestion]:
    """Yield a question for each tool that was called, about its paths that will change.

    Args:
        asked: By tool, the paths that its calls in the transaction named.
        steps: What will be done.
        overlay: What shall stand there.
    """
    touched = {path for step in steps for path in step.paths}
    for tool, paths in asked.items():
        changing = [path for path in paths if path in touched or any(path.is_below(above) for above in touched)]
        if changing:
            yield structs.replace(_question(tool, changing, overlay), taken=_taken(steps, overlay))


def write_instead(overlay: TransactionOverlay, path: WorkspacePath, permit: Permit) -> None:
    """Have the text that a person gave stand at a path, if what they saw there still does at the exit.

    Raises:
        EncodingError: The file's encoding cannot hold it.
    """
    entry = overlay.entry(path)
    assert entry is not None
    assert isinstance(entry.now, Written)
    file, text = entry.now, permit.edited_text or ""
    text_format = read_as(file.content, file.encoding, name=path)[0].text_format or UTF8
    content = encode(text, text_format, path=path)
    base = entry.base
    if permit.proposal.version is not None:
        base = structs.replace(base, version=permit.proposal.version, content=None)
    overlay.decree(
        path,
        structs.replace(file, content=content, version=version_of(content), stat=replace(file.stat, size=len(content))),
        base=base,
    )


def _taken(steps: Sequence[Step], overlay: TransactionOverlay) -> Taken:
    """Return what the steps take as a whole, and the files that are moved by being written anew."""
    taken = taken_by(steps)
    known = {source for source, _ in taken}
    rewritten = [(entry.now.path, entry.path) for entry in overlay.entries if isinstance(entry.now, Original)]
    return [*taken, *(pair for pair in rewritten if not _is_covered(pair[0], known))]


def _is_covered(path: WorkspacePath, known: Set[WorkspacePath]) -> bool:
    while path not in known and not path.is_root:
        path = path.parent
    return path in known


def _question(tool: str, paths: Sequence[WorkspacePath], overlay: TransactionOverlay) -> ContentQuestion:
    files = {path: entry.now for path in paths if (entry := overlay.entry(path)) and isinstance(entry.now, Written)}
    arguments = {"transaction": {str(path): file.version for path, file in files.items()}}
    made = [_made(path, files[path]) if path in files else None for path in paths]
    return ContentQuestion(tool=tool, paths=paths, arguments=arguments, made=made)


def _made(path: WorkspacePath, file: Written) -> str | bytes:
    text_format = read_as(file.content, file.encoding, name=path)[0].text_format
    return file.content if text_format is None else decode(file.content, text_format, path=path)
