"""All errors of the product: one class per code; each builds its own message.

`FileToolsError` is the only class a caller needs to catch; its fields are the wire format of a failed tool call.
"""

from __future__ import annotations

import copyreg
import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from filetools.printable import encodable, printable


class FileToolsError(Exception):
    """Raised when a call cannot do what was asked; subclasses name the reason.

    Attributes:
        code: Stable upper-case identifier, the same in Python, JSON and every interface.
        path: Workspace-relative path concerned, or None; never a path outside the workspace.
        retryable: True if the same call may succeed later with the same arguments.
        suggested_action: What the caller should do next.
        details: Further facts, JSON-compatible.
    """

    code: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False
    action: ClassVar[str] = "Read the message, correct what it names, then try again."
    """The suggested action, unless the constructor receives another one."""
    sentence: ClassVar[str] = ""
    """Template of the message, for errors that only have a path or a single value."""

    def __init_subclass__(
        cls, *, code: str | None = None, retryable: bool = False, action: str | None = None, sentence: str | None = None
    ) -> None:
        cls.code, cls.retryable = code or cls.code, retryable or cls.retryable
        cls.action, cls.sentence = action or cls.action, sentence or cls.sentence

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        suggested_action: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        if path is not None and not path.isprintable():
            message = message.replace(path, printable(path))
        super().__init__(message)
        self.message = message
        self.path = path
        self.suggested_action: str | None = suggested_action or self.action
        """None only if a dialect has removed it."""
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        # OSError subclasses would print errno tuples; people and models read the message.
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the constructor: those of subclasses take other arguments than the message.
        state = {**self.__dict__, "args": self.args}
        return copyreg.__newobj__, (type(self), self.message), state  # type: ignore[attr-defined]


class _AtPathError(FileToolsError):
    """Base of errors whose message is a sentence about their path."""

    def __init__(self, path: str) -> None:
        super().__init__(self.sentence.format(path or ".", path), path=path)


class _AboutError(FileToolsError):
    """Base of errors whose message is a fixed sentence, or one with a single value in it."""

    def __init__(self, about: str = "") -> None:
        super().__init__(self.sentence.format(about))


class InternalError(FileToolsError, action="Report this with its message: it is a defect of filetools."):
    """Raised when an invariant of filetools itself is violated; always a defect worth reporting."""


class InvalidArgumentError(
    FileToolsError,
    ValueError,
    code="INVALID_ARGUMENT",
    action="Correct the argument that the message names, then repeat the call.",
):
    """Raised when an argument has the wrong type, range or combination."""


def require_within(name: str, value: float, low: float, high: float | None = None) -> None:
    """Raise InvalidArgumentError unless a number is within bounds, both inclusive; None for no upper bound."""
    if not low <= value or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"{low} to {high}"
        raise InvalidArgumentError(f"{name} must be {bounds}, not {value!r}")


def require_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise InvalidArgumentError unless a value is one of the choices."""
    if value not in choices:
        raise InvalidArgumentError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


class InvalidPathError(
    FileToolsError,
    ValueError,
    code="INVALID_PATH",
    action="Name a file by a path relative to the workspace root.",
):
    """Raised when a path cannot name a file: empty, blank, NUL, not encodable, or the root where a file is meant."""

    def __init__(self, path: str, reason: str, *, suggested_action: str | None = None) -> None:
        shown = encodable(path)
        name = repr(shown) if shown == path else f"'{printable(path)}'"
        super().__init__(f"Invalid path {name}: {reason}", path=shown, suggested_action=suggested_action)


class AbsolutePathError(
    _AtPathError,
    ValueError,
    code="ABSOLUTE_PATH",
    action="Use a path relative to the workspace root.",
    sentence="Absolute path not allowed: {1!r}",
):
    """Raised when a path carries a drive letter, a UNC prefix, or lies outside the root as an absolute path."""


class PathTraversalError(
    _AtPathError,
    ValueError,
    code="PATH_TRAVERSAL",
    action="Write the path without '..' segments, relative to the workspace root.",
    sentence="Path {1!r} contains a '..' segment",
):
    """Raised when a segment of a path is '..', even where the result would stay inside."""


class PathTooLongError(
    FileToolsError,
    ValueError,
    code="PATH_TOO_LONG",
    action="Use a shorter path: at most 255 bytes per name, 4096 in all.",
):
    """Raised when a path exceeds 4096 bytes or one of its segments 255 bytes."""

    def __init__(self, path: str, reason: str = "over 4096 bytes, or a segment over 255 bytes") -> None:
        shown = path if len(path) <= 80 else f"{path[:77]}..."
        super().__init__(f"Path too long: {shown!r} ({reason})", path=shown)


class SymlinkNotAllowedError(
    FileToolsError, PermissionError, code="SYMLINK_NOT_ALLOWED", action="Use the path of the real file."
):
    """Raised when a path contains a symbolic link, or ends at one."""

    def __init__(self, path: str, link: str, target: str | None = None) -> None:
        pointing = f" (it points to {target!r})" if target is not None else ""
        super().__init__(
            f"{link!r} is a symbolic link{pointing}",
            path=path,
            details={"link": link, **({"target": target} if target else {})},
        )


class SymlinkEscapeError(
    FileToolsError,
    PermissionError,
    code="SYMLINK_ESCAPE",
    action="Use a file inside the workspace; filetools does not follow links out of it.",
):
    """Raised when a followed symbolic link leads outside the workspace."""

    def __init__(self, path: str, link: str) -> None:
        super().__init__(
            f"{link!r} is a symbolic link that leads outside the workspace", path=path, details={"link": link}
        )


class PathNotFoundError(
    _AtPathError,
    FileNotFoundError,
    code="FILE_NOT_FOUND",
    action="Check the path with list_files or search_files.",
    sentence="File not found: {}",
):
    """Raised when the named file does not exist."""


class DirectoryNotFoundError(
    _AtPathError,
    FileNotFoundError,
    code="DIR_NOT_FOUND",
    action="Check the path with list_files, or create the directory first.",
    sentence="Directory not found: {}",
):
    """Raised when the named directory, or a parent that must exist, does not exist."""


class PathExistsError(
    _AtPathError,
    FileExistsError,
    code="FILE_EXISTS",
    action="Choose another path, or use write_file to replace the file.",
    sentence="Already exists: {}",
):
    """Raised when something already exists where a new file or directory should be created."""


class PathIsDirectoryError(
    _AtPathError,
    IsADirectoryError,
    code="IS_A_DIRECTORY",
    action="Name a file in it; list_files shows what is there.",
    sentence="Is a directory: {}",
):
    """Raised when a file operation names a directory."""


class PathNotDirectoryError(
    _AtPathError,
    NotADirectoryError,
    code="NOT_A_DIRECTORY",
    action="Use the file as the path, or the folder that it is in.",
    sentence="Not a directory: {}",
):
    """Raised when a directory operation names a file, or a parent of a path is a file."""


class NotRegularFileError(
    FileToolsError,
    OSError,
    code="NOT_A_REGULAR_FILE",
    action="Name a regular file; list_files shows what each name is.",
):
    """Raised when a path names a device, pipe or socket."""

    def __init__(self, path: str, kind: str = "special file") -> None:
        super().__init__(f"Not a regular file: {path} is a {kind}", path=path)


class DirectoryNotEmptyError(
    _AtPathError,
    OSError,
    code="DIR_NOT_EMPTY",
    action="Pass recursive=true to delete the directory with everything in it.",
    sentence="Directory not empty: {}",
):
    """Raised when a directory to be deleted has entries and `recursive` was not given."""


class AccessDeniedError(
    FileToolsError,
    PermissionError,
    code="PERMISSION_DENIED",
    action="Ask the user for access to it, or choose another path.",
):
    """Raised when the operating system or a rule about unreachable paths denies access."""

    def __init__(
        self, path: str, reason: str = "the operating system denied access", *, suggested_action: str | None = None
    ) -> None:
        why = "" if reason == os.strerror(errno.EACCES) else f" ({reason})"
        super().__init__(f"Permission denied: {path}{why}", path=path, suggested_action=suggested_action)


class MountPointError(AccessDeniedError):
    """Raised when a file or folder is a mount point, which can be neither replaced, nor moved, nor removed."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            "it is a mount point, and only the contents of a mounted folder can be changed",
            suggested_action="Change the file where it is mounted from, or have its folder mounted in its place.",
        )


class NoStateError(AccessDeniedError):
    """Raised when something is changed in a root that has no state and was opened without creating one."""

    def __init__(
        self,
        reason: str = "it has no state yet, and was opened without creating one",
        suggested_action: str = "Create the state with 'filetools init', or open the root without create=False.",
    ) -> None:
        super().__init__("the workspace", reason, suggested_action=suggested_action)


class HoldsStateError(AccessDeniedError):
    """Raised when a folder to be deleted or moved contains the state of filetools."""

    def __init__(self, folder: str, state: str) -> None:
        super().__init__(
            folder,
            f"it contains the state of filetools at {state!r}",
            suggested_action="Delete or move what is in the folder, and leave the state where it is.",
        )
        self.details["state"] = state


class DiskFullError(
    _AtPathError, OSError, code="DISK_FULL", action="Free some space, then try again.", sentence="No space left for {}"
):
    """Raised when the disk or the quota is full; the old content is intact."""


class StorageFailedError(FileToolsError, OSError, action="Check the disk and the system log, then try again."):
    """Raised when the disk, its driver or its file system failed, as with EIO; the operation may not have happened."""

    def __init__(self, path: str, reason: str, *, suggested_action: str | None = None) -> None:
        super().__init__(f"Storage failed at {path or '.'}: {reason}", path=path, suggested_action=suggested_action)


class FileTooLargeError(
    FileToolsError,
    ValueError,
    code="FILE_TOO_LARGE",
    action=(
        "Read a part: pass offset and limit (lines), or byte_offset and byte_count."
        " Files over the setting max_write_bytes are not changed."
    ),
):
    """Raised when a file exceeds the limit of an operation."""

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(
            f"File too large: {path} has {size} bytes, the limit is {limit}",
            path=path,
            details={"size": size, "limit": limit},
        )


class EncodingError(
    FileToolsError, ValueError, code="ENCODING_ERROR", action="Leave out the characters that the encoding lacks."
):
    """Raised when text cannot be decoded or encoded; names the character or byte and its position."""

    def __init__(self, path: str, encoding: str, reason: str, *, position: int | None = None) -> None:
        super().__init__(
            f"Encoding error in {path} ({encoding}): {reason}",
            path=path,
            details={"encoding": encoding, **({"position": position} if position is not None else {})},
        )


class LockTimeoutError(
    FileToolsError, TimeoutError, code="LOCK_TIMEOUT", retryable=True, action="Wait 5 seconds and retry"
):
    """Raised when a file's lock was not free within the waiting time."""

    def __init__(self, path: str, seconds: float, holder: str | None = None, *, reason: str | None = None) -> None:
        held = f"; held by {holder}" if holder else ""
        super().__init__(
            reason or f"Could not lock {path} within {seconds:g} s{held}",
            path=path,
            details={"seconds": seconds, **({"holder": holder} if holder else {})},
        )


class SyncFailedError(FileToolsError, code="SYNC_FAILED", retryable=True, action="Wait 5 seconds and retry"):
    """Raised when a strict mirror refused a write, or a synchronisation could not run."""

    def __init__(self, path: str | None, reason: str, mirror: str = "mirror") -> None:
        about = f" with {path}" if path else ""
        super().__init__(f"The {mirror} is not in sync{about}: {reason}", path=path)
        self.reason = reason


class NetworkError(
    FileToolsError, ConnectionError, code="NETWORK_ERROR", retryable=True, action="Wait 5 seconds and retry"
):
    """Raised when a remote store or peer did not answer."""


class EditConflictError(
    FileToolsError, code="EDIT_CONFLICT", action="Read the file and repeat the change on its current text."
):
    """Raised when two changes touch the same text and cannot be merged."""


class EditNotFoundError(
    FileToolsError,
    ValueError,
    code="EDIT_NOT_FOUND",
    action="Read the file and repeat the edit with text copied from it.",
):
    """Raised when the text that an edit or a patch replaces is not in the file, or occurs fewer times than stated."""

    def __init__(
        self,
        path: str | None,
        what: str,
        *,
        closest: Mapping[str, Any] | None = None,
        lines: Sequence[int] = (),
        number: int = 1,
    ) -> None:
        """Build the error.

        Args:
            path: Workspace-relative path of the file.
            what: What was searched for, and how often it was found.
            closest: The most similar part of the file: `start_line`, `end_line`, `text`, `why`, `difference`.
            lines: Lines, from 1, of the matches found.
            number: Which edit or hunk of the call failed, from 1.
        """
        near = ""
        if closest is not None:
            first, last = closest["start_line"], closest["end_line"]
            place = f"is line {first}, which differs" if first == last else f"are lines {first}-{last}, which differ"
            difference = f" ({closest['difference']})" if closest["difference"] else ""
            near = f"; closest {place} in {', '.join(closest['why'])}{difference}:\n{closest['text']}".rstrip("\r\n")
        super().__init__(
            f"{what}{f' in {path}' if path else ''}{near}",
            path=path,
            details={"number": number, "closest": dict(closest) if closest else None, "lines": list(lines)},
        )


class EditAmbiguousError(
    FileToolsError, ValueError, code="EDIT_AMBIGUOUS", action="Include more of the surrounding lines."
):
    """Raised when the text that an edit or a patch replaces occurs in the file more often than stated."""

    def __init__(
        self,
        path: str | None,
        what: str,
        *,
        lines: Sequence[int],
        number: int = 1,
        around: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Build the error.

        Args:
            path: Workspace-relative path of the file.
            what: What was searched for, and how often it was found.
            lines: Line, from 1, of every match.
            number: Which edit or hunk of the call failed, from 1.
            around: The first matches with the lines around them: `line`, `text`.
        """
        shown = ", ".join(map(str, lines[:20])) + (" …" if len(lines) > 20 else "")
        super().__init__(
            f"{what}{f' in {path}' if path else ''}: at lines {shown}",
            path=path,
            details={"number": number, "lines": list(lines), "around": [dict(each) for each in around]},
        )


class VersionMismatchError(
    FileToolsError, code="VERSION_MISMATCH", action="Read the file and repeat the change on its current text."
):
    """Raised when a file is not at the version the caller expected."""

    def __init__(
        self,
        path: str,
        expected: str | None,
        current: str | None,
        *,
        reason: str | None = None,
        diff: str | None = None,
    ) -> None:
        """Build the error.

        Args:
            path: Workspace-relative path.
            expected: The version that the caller named.
            current: The current version; None if there is no file.
            reason: Replaces the usual message.
            diff: The changes since the version that the caller named or has read.
        """
        if reason is not None:
            text = f"{path}: {reason}"
        elif current is None:
            text = f"{path} does not exist, so it is not at version {expected}"
        else:
            text = f"{path} has changed: expected version {expected}, but it is at {current}"
        super().__init__(
            text,
            path=path,
            suggested_action="Leave expected_version out to create it, or check the path." if current is None else None,
            details={"expected_version": expected, "current_version": current, **({"diff": diff} if diff else {})},
        )


class ApprovalRequiredError(
    FileToolsError,
    PermissionError,
    code="APPROVAL_REQUIRED",
    action="Ask the user to approve this call, then repeat it unchanged.",
):
    """Raised when a call needs a person's approval and none was given."""

    def __init__(self, tool: str, path: str | None, reason: str, approval_id: str | None = None) -> None:
        about = f" on {path}" if path else ""
        super().__init__(
            f"{tool}{about} needs approval: {reason}",
            path=path,
            details={"tool": tool, "reason": reason, **({"approval_id": approval_id} if approval_id else {})},
        )


class ApprovalDeniedError(
    FileToolsError,
    PermissionError,
    code="APPROVAL_DENIED",
    action="Do not repeat the call; ask the user how to continue.",
):
    """Raised when a person rejected the call."""

    def __init__(self, tool: str, path: str | None) -> None:
        super().__init__(f"{tool}{f' on {path}' if path else ''} was denied", path=path, details={"tool": tool})


class ToolBlockedError(
    FileToolsError,
    PermissionError,
    code="TOOL_BLOCKED",
    action="Do not repeat the call; ask the user to change the permissions, or continue without it.",
):
    """Raised when the permission rules block a tool."""

    def __init__(self, tool: str, path: str | None, reason: str) -> None:
        super().__init__(
            f"{tool}{f' on {path}' if path else ''} is blocked: {reason}",
            path=path,
            details={"tool": tool, "reason": reason},
        )


class HiddenPathError(
    _AtPathError,
    PermissionError,
    code="PATH_HIDDEN",
    action="Do not try to get its content another way; ask the user for what you need to know.",
    sentence="{} is hidden by a rule: agents neither read nor change it (hidden_paths)",
):
    """Raised when an agent requests the content of a file of secrets."""


class UnknownToolError(
    FileToolsError, LookupError, code="UNKNOWN_TOOL", action="Use one of the tools that are listed."
):
    """Raised when no tool of that name is registered."""

    def __init__(self, name: str, available: Sequence[str], nearest: str | None = None) -> None:
        hint = f" Did you mean {nearest}?" if nearest else ""
        super().__init__(
            f"Unknown tool: {name}",
            suggested_action=f"Use one of: {', '.join(available)}.{hint}",
            details={"available": list(available), **({"nearest": nearest} if nearest else {})},
        )


class CallTimeoutError(
    FileToolsError, TimeoutError, code="TIMEOUT", action="Ask for less at a time, then repeat the call."
):
    """Raised when a call exceeded its time limit; locks and approvals are not counted."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what} did not finish within {seconds:g} s", details={"seconds": seconds})


class AbortedError(FileToolsError, code="ABORTED", action="Repeat the call if it is still wanted."):
    """Raised when the caller's abort signal stopped a call."""

    def __init__(self, what: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{what} was aborted", details=details)


class BatchFailedError(
    FileToolsError, code="BATCH_FAILED", action="Correct the file that failed, then repeat the whole batch."
):
    """Raised when one file of a batch failed; nothing of the batch was applied."""

    def __init__(self, cause: FileToolsError) -> None:
        super().__init__(
            f"Nothing was changed: {cause.message}",
            path=cause.path,
            suggested_action=cause.suggested_action,
            details={"cause": cause.code, **cause.details},
        )


class RateLimitedError(FileToolsError, code="RATE_LIMITED", retryable=True, action="Wait 1 second and retry"):
    """Raised when the system lacks a resource, such as open files or threads."""


class FileBusyError(
    _AtPathError,
    code="FILE_BUSY",
    retryable=True,
    action="Wait until the other program has finished writing, then retry",
    sentence="Another program is still writing {}",
):
    """Raised when another program keeps writing a file."""


class ChangedMeanwhileError(FileToolsError, code="CHANGED_MEANWHILE", retryable=True, action="Retry the call"):
    """Raised when a file kept changing during every try of one call."""

    def __init__(self, path: str, tries: int) -> None:
        super().__init__(f"{path} changed during each of {tries} tries", path=path, details={"tries": tries})


class HardLinkedError(
    FileToolsError,
    PermissionError,
    code="HARD_LINKED",
    action="Write to another path, or have the user set hard_links to 'break', which replaces only this name.",
):
    """Raised when a file has several names, and the settings do not allow separating them."""

    def __init__(self, path: str, links: int) -> None:
        super().__init__(
            f"{path} has {links} names (hard links), and the settings do not allow separating them",
            path=path,
            details={"links": links},
        )


class VersionGoneError(
    FileToolsError, LookupError, code="VERSION_GONE", action="Omit the version to get the current text."
):
    """Raised when the bytes of a version are no longer kept."""

    def __init__(self, path: str | None, version: str) -> None:
        super().__init__(f"Version {version} is unknown or no longer kept", path=path, details={"version": version})


class WorkspaceGoneError(
    _AboutError,
    OSError,
    code="WORKSPACE_GONE",
    action="Open the workspace again.",
    sentence="The workspace is gone: {}",
):
    """Raised when the root was deleted, replaced or unmounted while open."""


class NoRootError(
    WorkspaceGoneError,
    action="Make the folder first, or name another.",
    sentence="The root does not exist or is not a folder: {!r}",
):
    """Raised when no folder is at the root's path."""


class StateDamagedError(
    FileToolsError,
    OSError,
    code="STATE_DAMAGED",
    action="Run 'filetools doctor --repair' to set the damaged journal aside and start a fresh one.",
):
    """Raised when the journal is corrupt or was replaced while open; the files are untouched."""

    def __init__(self, reason: str, *, suggested_action: str | None = None) -> None:
        super().__init__(f"The state in .filetools is damaged: {reason}", suggested_action=suggested_action)


class StateVersionError(
    FileToolsError,
    code="STATE_VERSION",
    action="Open it with the version of filetools that wrote it, or move the state directory (.filetools) away to start a new"
    " history; the files stay.",
):
    """Raised when the state was written by a version of filetools with another schema; nothing was changed."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The state directory has schema {found}; this version of filetools opens schema {known} only",
            details={"found": found, "known": known},
        )


class StateElsewhereError(
    _AboutError,
    code="STATE_ELSEWHERE",
    action="Open the root with the state directory it was first opened with.",
    sentence="This root already keeps its state in another directory",
):
    """Raised when a root is bound to another state directory than the one given."""


class StateUntrustedError(FileToolsError, code="STATE_UNTRUSTED"):
    """Raised when a state directory cannot be used safely: another user owns or can write it, or it was exchanged."""

    def __init__(self, directory: object, reason: str, action: str) -> None:
        super().__init__(f"The state directory {str(directory)!r} is not trusted: {reason}", suggested_action=action)


class BufferClosedError(
    FileToolsError,
    LookupError,
    code="BUFFER_CLOSED",
    action="Open the document again; unsaved text of an expired handle is among the versions of its path.",
):
    """Raised when a handle holds no open document: it was closed, or its lease ran out."""

    def __init__(self, path: str | None = None) -> None:
        super().__init__("This handle holds no open document any more", path=path)


class ResyncRequiredError(
    FileToolsError, code="RESYNC", action="Read the document's newest text and version, and repeat the edits on it."
):
    """Raised when edits are based on a version of a document that is too old to transform them to the newest."""

    def __init__(self, path: str, buffer_version: int, newest: int) -> None:
        super().__init__(
            f"{path} is at buffer version {newest}; the edits since {buffer_version} are no longer kept",
            path=path,
            details={"buffer_version": buffer_version, "newest_version": newest},
        )


class DescriptorError(
    FileToolsError, LookupError, code="FD_READ_ERROR", action="Call the tool that gave the text again."
):
    """Raised when a descriptor cannot be read; subclasses say why."""

    def __init__(self, fd: str, message: str) -> None:
        super().__init__(message, details={"fd": fd, "type": self.code.removeprefix("FD_").lower()})


class DescriptorNotFoundError(
    DescriptorError, code="FD_NOT_FOUND", action="Use one of the ids that the message names, or list_fds."
):
    """Raised when the owner has no descriptor with this id."""

    def __init__(self, fd: str, known: Sequence[str]) -> None:
        super().__init__(fd, f"File descriptor {fd} not found. Available FDs: {', '.join(known) or 'none'}")


class DescriptorExpiredError(DescriptorError, code="FD_EXPIRED"):
    """Raised when the text of a descriptor is no longer kept: it was unused for too long, or its space was needed."""

    def __init__(self, fd: str) -> None:
        super().__init__(fd, f"File descriptor {fd} has expired")


class InvalidPageError(
    DescriptorError, code="FD_INVALID_PAGE", action="Ask for a page in the range that the message names."
):
    """Raised when a descriptor has no page with this number."""

    def __init__(self, fd: str, last: int) -> None:
        super().__init__(fd, f"Invalid page number. Valid range: 1-{last}")


class InvalidRangeError(DescriptorError, code="FD_INVALID_RANGE", action="Start in the range that the message names."):
    """Raised when a descriptor has no such line or character."""

    def __init__(self, fd: str, unit: str, first: int, last: int) -> None:
        super().__init__(fd, f"Invalid {unit} start position. Valid range: {first}-{last}")


class ProjectNotFoundError(
    _AboutError,
    LookupError,
    code="PROJECT_NOT_FOUND",
    action="Use the id of a registered project, or pass path.",
    sentence="Project not found: {}",
):
    """Raised when no project has this id."""


class RunNotFoundError(
    _AboutError,
    LookupError,
    code="RUN_NOT_FOUND",
    action="Use an id from the list of runs.",
    sentence="Run not found: {}",
):
    """Raised when no run has this id."""


class ProjectExistsError(FileToolsError, ValueError, code="PROJECT_EXISTS", action="Use the existing project."):
    """Raised when a folder to be registered is already a project."""

    def __init__(self, path: str, project_id: str) -> None:
        super().__init__(f"A project already exists at {path}: {project_id}", details={"id": project_id})


class AgentFailedError(
    FileToolsError,
    code="AGENT_FAILED",
    action="Check that the agent's command is installed, and answers when it is run by hand.",
):
    """Raised when an agent's program cannot be started, or ended without an answer."""

    def __init__(self, program: str, reason: str) -> None:
        super().__init__(f"The agent {program!r} failed: {reason}")


class TooManyRunsError(
    FileToolsError,
    code="TOO_MANY_RUNS",
    retryable=True,
    action="Wait until one of the runs has ended, or stop one, then retry.",
):
    """Raised when the maximum number of agents is running."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} agents run already, which is the limit", details={"limit": limit})


class GitFailedError(
    _AboutError,
    code="GIT_FAILED",
    action="Ask the user to run the command in a terminal, or continue without git.",
    sentence="Git command failed: {}",
):
    """Raised when git failed; subclasses say why where that is known."""


class NotARepositoryError(
    GitFailedError,
    code="NOT_A_REPOSITORY",
    action="Continue without git: this folder has no commits.",
    sentence="Git command failed: not a git repository",
):
    """Raised when a folder is in no git repository."""


class GitNotFoundError(
    GitFailedError,
    code="GIT_NOT_FOUND",
    action="Ask the user to install git, or continue without it.",
    sentence="Git command failed: git is not installed",
):
    """Raised when git is not installed."""
