"""What a person is shown who must decide whether a call may go on: looked up only when somebody is asked."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from filetools.content.diff import unified_diff
from filetools.content.facts import inspect
from filetools.content.file_patch import quoted_name
from filetools.content.version import version_of
from filetools.errors import ChangedMeanwhileError, FileTooLargeError, FileToolsError
from filetools.facade.folders import FOLDER, Contents, contents_of, moved
from filetools.facade.look import stat_version
from filetools.facade.parts import Parts
from filetools.facade.steps.folders import FolderStep, MoveFolder, RemoveFolder
from filetools.facade.steps.move import MoveFile
from filetools.facade.steps.remove import RemoveFile
from filetools.paths.names import printable
from filetools.paths.protected import matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.requests import Proposal, digest_of

LARGEST_SHOWN_BYTES: Final = 1024 * 1024
LARGEST_DIFF_CHARACTERS: Final = 100_000
MOST_NAMED_PATHS: Final = 20

Preview = Callable[[Parts, str | None], str | None]
"""Returns the text that a call would make of what stands there (None if nothing does); None if it would be no text."""
Texts = tuple[str | None, str, str]
"""Base, ours, theirs."""
Taken = Sequence[tuple[WorkspacePath, WorkspacePath | None]]
"""Files and folders that go as a whole: where each moves to; None for what is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a call wants to do. Lives as long as the call."""

    tool: str
    paths: Sequence[WorkspacePath]
    arguments: Mapping[str, Any]
    """All that tells this call from others."""
    preview: Preview | None = None
    taken: Taken = ()

    def propose(self, parts: Parts) -> Proposal:
        """Return the words and texts by which it is decided, bound to the versions that stand there now."""
        return _propose(parts, self)

    def require_allowed(self, parts: Parts, digest: str) -> None:
        """Raise ChangedMeanwhileError unless it still is what a person has allowed."""
        if self.propose(parts).digest != digest:
            raise ChangedMeanwhileError(self.paths[0] if self.paths else ".", 1)


def taken_by(steps: Sequence[object]) -> Taken:
    """Return what some steps take as a whole."""
    taken: list[tuple[WorkspacePath, WorkspacePath | None]] = []
    for step in steps:
        if isinstance(step, MoveFolder | MoveFile):
            taken.append((step.paths[0], step.paths[1]))
        elif isinstance(step, RemoveFile) or (isinstance(step, RemoveFolder) and step.is_recursive):
            taken.append((step.paths[0], None))
    return taken


def bind(steps: Sequence[object], check: Callable[[], None]) -> None:
    """Have steps refuse what is not what a person has allowed; the check comes once, when all of them have looked."""
    bound = [step for step in steps if isinstance(step, FolderStep | MoveFile)]
    for step in bound[:-1]:
        step.bind(lambda: None)
    for step in bound[-1:]:
        step.bind(check)


def conflict_proposal(
    tool: str, path: WorkspacePath, texts: Texts, arguments: Mapping[str, Any], *, by_words: bool
) -> Proposal:
    """Return the words and texts by which a person decides about a text that meets another's unsaved one."""
    base, ours, theirs = texts
    return Proposal(
        description=printable(f"{_words(tool)} {path}, which has unsaved changes"),
        digest=digest_of({"tool": tool, "arguments": _plain(arguments), "texts": texts}),
        version=version_of(ours.encode("utf-8", "surrogatepass")),
        old_text=ours,
        new_text=theirs,
        base_text=base,
        by_words=by_words,
        diff=_diff(path, ours, theirs),
        can_merge=True,
    )


def _propose(parts: Parts, act: Act) -> Proposal:
    arguments, paths = act.arguments, act.paths
    source = arguments.get("source")
    looked_at = [*paths, source] if isinstance(source, WorkspacePath) else paths
    standing = {str(path): _standing(parts, path) for path in looked_at}
    versions = {path: version for path, (version, _) in standing.items()}
    contents = {path: contents_of(parts, path) for path, _ in act.taken}
    first_version, old_text = standing[str(paths[0])] if paths else (None, None)
    is_no_text = first_version is not None and old_text is None
    new_text = standing.get(str(source), (None, None))[1]
    if act.preview is not None and not is_no_text:
        new_text = _shown(act.preview, parts, old_text)
    diffs = [] if new_text is None or is_no_text else [_diff(paths[0], old_text, new_text) or ""]
    patch, items = arguments.get("patch"), arguments.get("items")
    if isinstance(patch, str):
        diffs = [patch]
    elif isinstance(items, Sequence) and len(items) == len(paths):
        diffs = list(_item_diffs(paths, items, standing))
    elif act.taken:
        diffs = list(_taken_diffs(parts, act.taken, contents))
    return Proposal(
        description=printable(_description(parts, act, contents)),
        digest=digest_of(
            {
                "tool": act.tool,
                "arguments": _plain(arguments),
                "versions": versions,
                **({"contents": {path: dict(inside) for path, inside in contents.items()}} if contents else {}),
            }
        ),
        version=first_version,
        old_text=old_text,
        new_text=new_text,
        diff=_cut("".join(diffs)) or None,
        can_merge=act.preview is not None and new_text is not None,
    )


def _shown(preview: Preview, parts: Parts, old_text: str | None) -> str | None:
    try:
        text = preview(parts, old_text)
    except FileToolsError:
        return None  # whether the call can be done is for the call to say, when it looks under the lock
    return text if text is None or len(text) <= LARGEST_SHOWN_BYTES else None


def _diff(path: WorkspacePath, old: str | None, new: str) -> str | None:
    before = "/dev/null" if old is None else f"a/{path}"
    return _cut(unified_diff(old or "", new, before, f"b/{path}")) or None


def _cut(diff: str) -> str:
    """Return what a person can be shown of a diff, which says so if that is not all."""
    left = len(diff) - LARGEST_DIFF_CHARACTERS
    return diff if left <= 0 else f"{diff[:LARGEST_DIFF_CHARACTERS]}\n… {left} more characters are not shown\n"


def _item_diffs(
    paths: Sequence[WorkspacePath], items: Sequence[Any], standing: Mapping[str, tuple[str | None, str | None]]
) -> Iterator[str]:
    for path, item in zip(paths, items, strict=True):
        version, old = standing[str(path)]
        new = item.get("content") if isinstance(item, Mapping) and item.get("encoding") != "base64" else None
        if isinstance(new, str) and (version is None or old is not None):
            yield _diff(path, old, new) or ""
        else:
            yield f"Binary file {printable(path)} differs\n"


def _taken_diffs(parts: Parts, taken: Taken, contents: Mapping[WorkspacePath, Contents]) -> Iterator[str]:
    """Yield what becomes of each file, in git's form: first those by which other programs run code, with their texts."""
    patterns = parts.settings.protected_paths
    rest: list[str] = []
    for folder, destination in taken:
        for before in sorted(path for path, version in contents[folder].items() if version != FOLDER):
            after = None if destination is None else moved(before, folder, destination)
            header = f"diff --git {quoted_name(f'a/{before}')} {quoted_name(f'b/{after or before}')}\n"
            header += (
                "deleted file\n"
                if after is None
                else f"rename from {quoted_name(before)}\nrename to {quoted_name(after)}\n"
            )
            if matches_protected(before, patterns) or (after is not None and matches_protected(after, patterns)):
                yield header + _whole_text(parts, before, after)
            else:
                rest.append(header)
    yield from rest


def _whole_text(parts: Parts, before: WorkspacePath, after: WorkspacePath | None) -> str:
    version, text = _standing(parts, before)
    if text is None:
        return f"Binary file {printable(before)}, {version}\n"
    if after is None:
        return unified_diff(text, "", f"a/{before}", "/dev/null")
    return unified_diff("", text, "/dev/null", f"b/{after}")


def _description(parts: Parts, act: Act, contents: Mapping[WorkspacePath, Contents]) -> str:
    folder, destination = act.taken[0] if len(act.taken) == 1 else (WorkspacePath(), None)
    inside = contents.get(folder, {})
    if inside.get(folder) != FOLDER:
        return f"{_words(act.tool)} {_named(act.paths) or 'the workspace'}"
    files = sum(version != FOLDER for version in inside.values())
    words = f"Delete folder {folder}" if destination is None else f"Move folder {folder} to {destination}"
    words += f", with {files} file{'' if files == 1 else 's'}"
    ends = [*inside, *(() if destination is None else (moved(path, folder, destination) for path in inside))]
    protected = [path for path in ends if matches_protected(path, parts.settings.protected_paths)]
    return f"{words}; protected: {_named(protected)}" if protected else words


def _named(paths: Sequence[WorkspacePath]) -> str:
    more = len(paths) - MOST_NAMED_PATHS
    named = ", ".join(paths[:MOST_NAMED_PATHS])
    return f"{named} and {more} more" if more > 0 else named


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
