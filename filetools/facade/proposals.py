"""What a person is shown who must decide whether a call may go on: looked up only when somebody is asked."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from filetools.content import inspect, version_of
from filetools.errors import FileToolsError
from filetools.facade.parts import Parts
from filetools.paths import WorkspacePath
from filetools.permissions import Proposal, digest_of

LARGEST_SHOWN_BYTES: Final = 1024 * 1024


async def propose(parts: Parts, tool: str, paths: Sequence[WorkspacePath], arguments: Mapping[str, Any]) -> Proposal:
    """Return the words and texts by which a call is decided, bound to the versions that stand there now."""
    return await parts.crew.run(partial(_propose, parts, tool, paths, arguments))


def _propose(parts: Parts, tool: str, paths: Sequence[WorkspacePath], arguments: Mapping[str, Any]) -> Proposal:
    source = arguments.get("source")
    looked_at = [*paths, source] if isinstance(source, WorkspacePath) else paths
    standing = {str(path): _standing(parts, path) for path in looked_at}
    plain = {name: _plain(value) for name, value in arguments.items()}
    versions = {path: version for path, (version, _) in standing.items()}
    first_version, old_text = standing[str(paths[0])] if paths else (None, None)
    content = arguments.get("content")
    return Proposal(
        description=f"{tool.replace('_', ' ').capitalize()} {', '.join(paths) or 'the workspace'}",
        digest=digest_of({"tool": tool, "arguments": plain, "versions": versions}),
        version=first_version,
        old_text=old_text,
        new_text=content if isinstance(content, str) else standing.get(str(source), (None, None))[1],
    )


def _standing(parts: Parts, path: WorkspacePath) -> tuple[str | None, str | None]:
    """Return version and text of what stands at a path, as far as it is a file small enough to show."""
    try:
        content, _ = parts.store.read(path, limit=LARGEST_SHOWN_BYTES)
    except FileToolsError:
        return None, None
    return version_of(content), inspect(content, name=path)[1]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
