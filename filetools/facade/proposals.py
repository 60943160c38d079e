"""What a person is shown who must decide whether a call may go on: looked up only when somebody is asked."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from filetools.content import inspect, unified_diff, version_of
from filetools.errors import FileTooLargeError, FileToolsError
from filetools.facade.expected import stat_version
from filetools.facade.parts import Parts
from filetools.paths import WorkspacePath
from filetools.permissions import Proposal, digest_of

LARGEST_SHOWN_BYTES: Final = 1024 * 1024
LARGEST_DIFF_CHARACTERS: Final = 100_000

Preview = Callable[[Parts, str | None], str | None]
"""Returns the text that a call would make of what stands there (None if nothing does); None if it would be no text."""
Texts = tuple[str | None, str, str]
"""Base, ours, theirs."""


async def propose(
    parts: Parts,
    tool: str,
    paths: Sequence[WorkspacePath],
    arguments: Mapping[str, Any],
    preview: Preview | None = None,
) -> Proposal:
    """Return the words and texts by which a call is decided, bound to the versions that stand there now."""
    return await parts.crew.run(partial(_propose, parts, tool, paths, arguments, preview))


def conflict_proposal(tool: str, path: WorkspacePath, texts: Texts, arguments: Mapping[str, Any]) -> Proposal:
    """Return the words and texts by which a person decides about a text that meets another's unsaved one."""
    base, ours, theirs = texts
    return Proposal(
        description=f"{_words(tool)} {path}, where somebody has unsaved changes",
        digest=digest_of({"tool": tool, "arguments": _plain(arguments), "texts": texts}),
        version=version_of(ours.encode("utf-8", "surrogatepass")),
        old_text=ours,
        new_text=theirs,
        base_text=base,
        diff=_diff(path, ours, theirs),
        can_merge=True,
    )


def _propose(
    parts: Parts,
    tool: str,
    paths: Sequence[WorkspacePath],
    arguments: Mapping[str, Any],
    preview: Preview | None,
) -> Proposal:
    source = arguments.get("source")
    looked_at = [*paths, source] if isinstance(source, WorkspacePath) else paths
    standing = {str(path): _standing(parts, path) for path in looked_at}
    versions = {path: version for path, (version, _) in standing.items()}
    first_version, old_text = standing[str(paths[0])] if paths else (None, None)
    is_no_text = first_version is not None and old_text is None
    new_text = standing.get(str(source), (None, None))[1]
    if preview is not None and not is_no_text:
        new_text = _shown(preview, parts, old_text)
    patch = arguments.get("patch")
    if isinstance(patch, str):
        diff: str | None = patch[:LARGEST_DIFF_CHARACTERS]
    else:
        diff = _diff(paths[0], old_text, new_text) if new_text is not None and not is_no_text else None
    return Proposal(
        description=f"{_words(tool)} {', '.join(paths) or 'the workspace'}",
        digest=digest_of({"tool": tool, "arguments": _plain(arguments), "versions": versions}),
        version=first_version,
        old_text=old_text,
        new_text=new_text,
        diff=diff,
        can_merge=preview is not None and new_text is not None,
    )


def _shown(preview: Preview, parts: Parts, old_text: str | None) -> str | None:
    try:
        text = preview(parts, old_text)
    except FileToolsError:
        return None  # whether the call can be done is for the call to say, when it looks under the lock
    return text if text is None or len(text) <= LARGEST_SHOWN_BYTES else None


def _diff(path: WorkspacePath, old: str | None, new: str) -> str | None:
    before = "/dev/null" if old is None else f"a/{path}"
    return unified_diff(old or "", new, before, f"b/{path}")[:LARGEST_DIFF_CHARACTERS] or None


def _words(tool: str) -> str:
    return tool.replace("_", " ").capitalize()


def _standing(parts: Parts, path: WorkspacePath) -> tuple[str | None, str | None]:
    """Return version and text of what stands at a path; the text as far as it is a file small enough to show."""
    try:
        content, _ = parts.store.read(path, limit=LARGEST_SHOWN_BYTES)
    except FileTooLargeError:
        stat = parts.store.stat(path)
        return None if stat is None else stat_version(stat.identity), None
    except FileToolsError:
        return None, None
    return version_of(content), inspect(content, name=path)[1]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
