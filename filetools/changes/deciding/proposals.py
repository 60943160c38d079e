"""What a person is shown who decides about a call; computed only if somebody is asked."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from filetools.changes.parts import Parts
from filetools.changes.steps.files import MoveFile, PutFile, RemoveFile
from filetools.changes.steps.folders import FOLDER, Contents, MoveFolder, RemoveFolderStep, contents_of, moved
from filetools.changes.steps.look import Look, unseen
from filetools.changes.steps.step import Step
from filetools.changes.steps.unsaved import UnsavedQuestion, disk_text
from filetools.content.differences.diff import narrowed, shortened, unified_diff
from filetools.content.differences.merging import merge
from filetools.content.facts import inspect
from filetools.content.patching.file_patch import quoted_name
from filetools.content.version import stat_version, version_of
from filetools.editors.documents import OpenText
from filetools.errors import (
    ChangedMeanwhileError,
    EditAmbiguousError,
    EditConflictError,
    EditNotFoundError,
    FileTooLargeError,
    FileToolsError,
    PathExistsError,
    PathNotFoundError,
    VersionMismatchError,
)
from filetools.journal.commit import HeadMovedError
from filetools.models.records import Actor
from filetools.paths.protected import matches_protected
from filetools.paths.workspace_path import WorkspacePath
from filetools.permissions.requests import Proposal, digest_of
from filetools.printable import printable

LARGEST_TEXT_CHARACTERS: Final = 1024 * 1024
"""Of the old and the new text that a question carries whole, so that a person can write another."""
LARGEST_COMPARED_BYTES: Final = 16 * 1024 * 1024
LARGEST_DIFF_CHARACTERS: Final = 4 * 1024 * 1024
LONG_LINE_CHARACTERS: Final = 2000
"""Of longer lines a question shows only the change and the text around it."""
MOST_NAMED_PATHS: Final = 20


class ShownState(Struct, frozen=True, kw_only=True):
    """What is at a path."""

    look: Look
    text: str | None
    """The unsaved text, else the file's; None without a file, and if it is not text or too large to be shown."""
    opened: OpenText | None = None
    """The document, if it has unsaved text."""


REFUSALS: Final = (
    EditAmbiguousError, EditConflictError, EditNotFoundError, PathExistsError, PathNotFoundError, VersionMismatchError,
)  # fmt: skip
"""Refusals that an approval does not change."""
Made = str | bytes | FileToolsError
"""What a call would make of a file, or why it cannot."""
Taken = Sequence[tuple[WorkspacePath, WorkspacePath | None]]
"""Files and folders that are moved or deleted as a whole, each with its destination; None if it is deleted."""


class Act(Struct, frozen=True, kw_only=True):
    """A call that is about to be made, while a person may be asked about it."""

    tool: str
    paths: Sequence[WorkspacePath]
    arguments: Mapping[str, Any]
    """Everything that distinguishes this call from others."""
    actor: Actor
    steps: Sequence[Step] = ()
    """What it would do; the steps are not run."""
    text: Callable[[], str] | None = None
    """Returns the new text of the first path, where no step writes it."""
    taken: Taken = ()
    """Files that move because they are written anew elsewhere."""
    is_text: bool = False
    """True if it writes the text of one file, so that a person can give it another."""
    looks_at_disk: bool = False
    """True if it writes the unsaved text itself."""
    reports_all: bool = False
    """True if its refusal depends on all steps: it names every file that cannot be changed, or other steps are tried."""

    def propose(self, parts: Parts, *, with_diff: bool = True) -> Proposal:
        """Return what a person is shown, bound to the present versions.

        Raises:
            FileToolsError: An approval would not help, because the call is refused in any case.
        """
        taken, puts = [*taken_by(self.steps), *self.taken], [step for step in self.steps if isinstance(step, PutFile)]
        # A large file is read only if it would be written.
        limits = dict.fromkeys((step.path for step in puts), parts.settings.max_write_bytes)
        standing = {
            path: _standing(
                parts, path, with_unsaved=not self.looks_at_disk, limit=limits.get(path, LARGEST_COMPARED_BYTES)
            )
            for path in self.paths
        }
        _refuse_changed(parts, self, standing)
        contents = {path: contents_of(parts, path) for path, _ in taken}
        questions: list[UnsavedQuestion] = []
        made = {step.path: _made(parts, self, step, standing[step.path], questions) for step in puts}
        if self.text is not None:
            made[self.paths[0]] = self.text()
        diffs = [*self._made_diffs(made, standing), *_taken_diffs(parts, taken, contents)] if with_diff else []
        first = standing[self.paths[0]] if self.paths else None
        old = None if first is None else first.text
        new_text = made.get(self.paths[0]) if len(self.paths) == 1 else None
        new = new_text if isinstance(new_text, str) else None
        if any(len(text) > LARGEST_TEXT_CHARACTERS for text in (old, new) if text is not None):
            old = new = None
        question = questions[0] if self.is_text and questions else None
        unsaved = [path for path in self.paths if standing[path].opened is not None]
        not_saved = f"; unsaved text in {_named(unsaved)}" if unsaved else ""
        bound = {
            "tool": self.tool,
            "arguments": _plain(self.arguments),
            "versions": {str(path): each.look.version for path, each in standing.items()},
            # What a merge makes depends on what the writer knows, too.
            "made": {path: new.code if isinstance(new, FileToolsError) else _plain(new) for path, new in made.items()},
            "contents": contents,
            "unsaved": None if question is None else question.opened.text,
        }
        diff = _cut(diffs)
        version = None if first is None else first.look.version
        opened = None if first is None else first.opened
        unsaved_version = None if opened is None else opened.version
        is_destructive = any(
            bool(contents[before]) if after is None else after != before and parts.store.stat(after) is not None
            for before, after in taken
        )
        return Proposal(
            description=printable(_description(parts, self, taken, contents) + not_saved),
            digest=digest_of(bound),
            version=version,
            unsaved_version=unsaved_version,
            old_text=old,
            new_text=new,
            base_text=None if question is None else question.base_text,
            by_words=None if question is None else parts.settings.is_prose(self.paths[0]),
            replacing_unsaved=None if question is None else question.proposed,
            diff=diff,
            can_merge=self.is_text and new is not None and (version is None or old is not None),
            is_destructive=is_destructive,
            is_cut=diff is not None and len(diff) < sum(map(len, diffs)),
        )

    def _made_diffs(
        self, made: Mapping[WorkspacePath, Made], standing: Mapping[WorkspacePath, ShownState]
    ) -> list[str]:
        patch = self.arguments.get("patch")
        if isinstance(patch, str) and not self.is_text:
            return [patch]
        return [_file_diff(path, new, standing[path]) for path, new in made.items()]

    def require_allowed(self, parts: Parts, digest: str) -> None:
        """Raise ChangedMeanwhileError unless the call would still do what a person has allowed."""
        if self.propose(parts, with_diff=False).digest != digest:
            raise ChangedMeanwhileError(self.paths[0] if self.paths else ".", 1)


def taken_by(steps: Sequence[Step]) -> Taken:
    """Return what steps move or delete as a whole, without folders that other steps leave empty."""
    taken: list[tuple[WorkspacePath, WorkspacePath | None]] = []
    for step in steps:
        if isinstance(step, MoveFolder | MoveFile):
            taken.append((step.paths[0], step.paths[1]))
        elif isinstance(step, RemoveFile) or (
            isinstance(step, RemoveFolderStep) and (step.is_recursive or len(steps) == 1)
        ):
            taken.append((step.paths[0], None))
    return taken


def reported_proposal(tool: str, path: WorkspacePath, ours: str, theirs: str) -> Proposal:
    """Return what a person is shown who decides whether a text replaces unsaved text that an editor has reported."""
    return Proposal(
        description=printable(f"{_words(tool)} {path}, which has unsaved changes"),
        digest=digest_of({"tool": tool, "texts": (ours, theirs)}),
        version=version_of(ours.encode("utf-8", "surrogatepass")),
        old_text=ours,
        new_text=theirs,
        diff=_cut([_diff(path, ours, theirs)]),
        can_merge=True,
    )


def _refuse_changed(parts: Parts, act: Act, standing: Mapping[WorkspacePath, ShownState]) -> None:
    """Refuse a deletion or a move that is refused after any answer; of a large file the version is not known yet."""
    for step in act.steps:
        looks = [standing[path].look for path in step.paths if path in standing and not standing[path].look.is_opaque]
        if isinstance(step, RemoveFile | MoveFile) and len(looks) == len(step.paths) and looks[0].stat is not None:
            try:
                step.permit(*looks)
            except FileToolsError as exc:
                if _is_answer(parts, act, step, exc):
                    raise


def _is_answer(parts: Parts, act: Act, step: Step, refusal: FileToolsError) -> bool:
    """Return True if the call ends with the refusal of a step, whatever a person says about it.

    A refusal may show what is in a file, which the caller may not be allowed to read.
    """
    is_withheld = parts.gatekeeper.policy.withholding(act.actor, "read_file")
    is_readable = is_withheld is None or not any(map(is_withheld, step.paths))
    is_first = len(act.steps) == 1 or not act.reports_all
    return is_first and isinstance(refusal, REFUSALS) and is_readable


def _made(parts: Parts, act: Act, step: PutFile, standing: ShownState, questions: list[UnsavedQuestion]) -> Made:
    """Return what a call would make of a file, or why it cannot; adds the question about unsaved text that it would drop.

    Raises:
        FileToolsError: The call is refused in any case.
    """
    look, opened, path = standing.look, standing.opened, step.path
    try:
        if look.is_opaque and look.stat is not None:
            raise FileTooLargeError(path, look.stat.size, parts.settings.max_write_bytes)
        decision = step.preview(parts, look)
    except UnsavedQuestion as question:
        questions.append(question)
        return question.proposed
    except HeadMovedError:
        return ChangedMeanwhileError(path, 1)
    except FileToolsError as exc:
        is_conflict = opened is not None and isinstance(exc, EditConflictError)
        if is_conflict or isinstance(exc, PathExistsError) or _is_answer(parts, act, step, exc):
            raise
        return exc
    text = decision.text_for(path)
    if decision.facts.version == look.version and decision.shown is None:
        text = standing.text  # it changes nothing
    elif text is not None and act.is_text and opened is not None and decision.sent is not None:
        on_disk, by_words = disk_text(parts, look) or "", parts.settings.is_prose(path)
        if merge(opened.base_text, opened.text, text, by_words=by_words).text != text:
            # A whole text that lacks what a person has typed is their decision, even if its writer has read that.
            questions.append(UnsavedQuestion(opened, base_text=on_disk, proposed=text))
    return decision.content if text is None else text


def _file_diff(path: WorkspacePath, new: Made, old: ShownState) -> str:
    if isinstance(new, FileToolsError):
        return f"What would become of {path} cannot be shown: {new}\n"
    if isinstance(new, bytes):
        return f"Binary file {path}: {_sized(old)} would become {len(new):,} bytes, {version_of(new)}\n"
    if old.look.version is None and old.opened is None:
        return _diff(path, None, new) or f"{path} would be a new, empty file\n"
    if old.text is None:
        return f"File {path}: {_sized(old)} would become this text\n{_diff(path, '', new)}"
    return _diff(path, old.text, new) or f"{path} would stay as it is\n"


def _sized(old: ShownState) -> str:
    return "nothing" if old.look.stat is None else f"{old.look.stat.size:,} bytes, {old.look.version}"


def _diff(path: WorkspacePath, old: str | None, new: str) -> str:
    """Return the difference of two texts for a person: lines that are too long to read are cut around what changes."""
    text = unified_diff(old or "", new, "/dev/null" if old is None else f"a/{path}", f"b/{path}")
    return "".join(f"{line}\n" for line in narrowed(text.split("\n")[:-1], LONG_LINE_CHARACTERS))


def _cut(diffs: Sequence[str]) -> str | None:
    return shortened("".join(diffs), LARGEST_DIFF_CHARACTERS) or None


def _taken_diffs(parts: Parts, taken: Taken, contents: Mapping[WorkspacePath, Contents]) -> Iterator[str]:
    """Yield what happens to each file, in git's form: first protected files, which other programs may run.

    The text of protected, deleted and covered files is shown while there is room for it.
    """
    patterns = parts.settings.protected_paths
    known = [
        (before, None if destination is None else moved(before, folder, destination))
        for folder, destination in taken
        for before in sorted(path for path, version in contents[folder].items() if version != FOLDER)
    ]
    dangerous = {pair for pair in known if any(path and matches_protected(path, patterns) for path in pair)}
    room = LARGEST_DIFF_CHARACTERS
    for pair in sorted(known, key=lambda each: each not in dangerous):
        before, after = pair
        header = f"diff --git {quoted_name(f'a/{before}')} {quoted_name(f'b/{after or before}')}\n"
        if after is None:
            header += "deleted file\n"
        else:
            header += f"rename from {quoted_name(before)}\nrename to {quoted_name(after)}\n"
        if after is not None and after != before and (covered := _standing(parts, after)).look.version is not None:
            header += _gone_text(after, covered)
        if pair in dangerous and after is not None:
            old = _standing(parts, before)
            is_text = old.text is not None
            header += (
                unified_diff("", old.text or "", "/dev/null", f"b/{after}") if is_text else _gone_text(before, old)
            )
        elif after is None:
            header += _gone_text(before, _standing(parts, before)) if room > 0 else "Its text is not shown\n"
        room -= len(header)
        yield header


def _gone_text(path: WorkspacePath, old: ShownState) -> str:
    if old.look.version is None and old.opened is None:
        return f"{printable(path)} is a link or a special file\n"
    if old.text is None:
        return f"Binary file {printable(path)}, {_sized(old)}\n"
    return unified_diff(old.text, "", f"a/{path}", "/dev/null")


def _description(parts: Parts, act: Act, taken: Taken, contents: Mapping[WorkspacePath, Contents]) -> str:
    folder, destination = taken[0] if len(taken) == 1 else (WorkspacePath(), None)
    inside = contents.get(folder, {})
    if inside.get(folder) != FOLDER:
        return f"{_words(act.tool)} {_named(act.paths) or act.arguments.get('name', 'the workspace')}"
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


def _standing(
    parts: Parts, path: WorkspacePath, *, with_unsaved: bool = True, limit: int = LARGEST_COMPARED_BYTES
) -> ShownState:
    """Return what is at a path, with its text if it is small enough to be compared."""
    look = unseen(parts, path)
    try:
        content, stat = parts.store.read(path, limit=limit)
        facts = inspect(content, name=path)[0]
        look = replace(look, stat=stat, facts=facts, version=facts.version, content=content)
    except FileTooLargeError:
        if (large := parts.store.stat(path)) is not None:
            look = replace(look, stat=large, version=stat_version(large.identity), is_opaque=True)
    except FileToolsError:
        pass  # there is no file, or it cannot be read
    document = look.view.document if with_unsaved else None
    opened = None if document is None or not document.is_dirty else parts.documents.newest(document.id)
    text = None
    if opened is not None:
        text = opened.text
    elif look.stat is not None and look.stat.size <= LARGEST_COMPARED_BYTES and not look.is_opaque:
        text = disk_text(parts, look)
    return ShownState(look=look, text=text, opened=opened)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
