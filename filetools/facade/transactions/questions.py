"""What must be allowed before a transaction is done: asked by the tools that were called, about what comes of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

from msgspec import Struct, structs

from filetools.changes.knowledge import read_as
from filetools.changes.overlay import OverlayNode
from filetools.content.formats import UTF8, decode, encode
from filetools.content.version import version_of
from filetools.facade.parts import Parts
from filetools.facade.proposals import Preview, ShownState, Taken, taken_by
from filetools.facade.steps.put import PutFile
from filetools.facade.steps.step import Step
from filetools.facade.transactions.held import HeldTree
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
    asked: Mapping[str, Iterable[WorkspacePath]], steps: Sequence[Step], held: HeldTree
) -> Iterator[ContentQuestion]:
    """Yield a question for each tool that was called, about its paths that will change.

    Args:
        asked: By tool, the paths that its calls in the transaction named.
        steps: What will be done.
        held: What shall stand there.
    """
    touched = {path for step in steps for path in step.paths}
    for tool, paths in asked.items():
        changing = [path for path in paths if path in touched or any(path.is_below(above) for above in touched)]
        if changing:
            yield structs.replace(_question(tool, changing, held), taken=_taken(steps, held))


def write_instead(held: HeldTree, path: WorkspacePath, permit: Permit) -> None:
    """Have the text that a person gave stand at a path, if what they saw there still does at the exit.

    Raises:
        EncodingError: The file's encoding cannot hold it.
    """
    node = held.overlay.find(path)
    assert node is not None
    assert node.content is not None
    text_format = read_as(node.content, node.encoding, name=path)[0].text_format or UTF8
    held.decree(path, encode(permit.edited_text or "", text_format, path=path), permit.proposal.version)


def _taken(steps: Sequence[Step], held: HeldTree) -> Taken:
    """Return what the steps take as a whole, and the files that are moved by being written anew."""
    taken = taken_by(steps)
    known = {source for source, _ in taken}
    made = [(step.path, held.overlay.find(step.path)) for step in steps if isinstance(step, PutFile)]
    rewritten = [
        (node.origin.path, path)
        for path, node in made
        if node is not None and node.origin is not None and node.content is None
    ]
    return [*taken, *(pair for pair in rewritten if not _is_covered(pair[0], known))]


def _is_covered(path: WorkspacePath, known: Set[WorkspacePath]) -> bool:
    while path not in known and not path.is_root:
        path = path.parent
    return path in known


def _question(tool: str, paths: Sequence[WorkspacePath], held: HeldTree) -> ContentQuestion:
    nodes = {path: held.overlay.find(path) for path in paths}
    files = {path: node for path, node in nodes.items() if node is not None and node.content is not None}
    arguments = {"transaction": {str(path): version_of(node.content or b"") for path, node in files.items()}}
    made = [_made(path, files[path]) if path in files else None for path in paths]
    return ContentQuestion(tool=tool, paths=paths, arguments=arguments, made=made)


def _made(path: WorkspacePath, node: OverlayNode) -> str | bytes:
    content = node.content or b""
    text_format = read_as(content, node.encoding, name=path)[0].text_format
    return content if text_format is None else decode(content, text_format, path=path)
