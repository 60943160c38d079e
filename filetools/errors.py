"""Every error of the product: one class a code, each building its own sentence.

`FileToolsError` is the one class a caller needs to catch; its fields are the wire format of a failed tool call.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from filetools.printable import printable


class FileToolsError(Exception):
    """Raised when a file tool cannot do what was asked; subclasses say which rule refused.

    Attributes:
        code: Stable upper-case identifier, the same in Python, JSON and every protocol door.
        path: Workspace-relative path concerned, or None; never a path outside the workspace.
        retryable: Whether the same call may succeed later without other arguments.
        suggested_action: What the caller should do next.
        details: Further facts, JSON-compatible.
    """

    code: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False
    action: ClassVar[str] = "Read the message, correct what it names, then try again."
    """What to do next where the one who raises it knows nothing better."""

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
        """A dialect with words of its own may take it away."""
        self.details: dict[str, Any] = dict(details or {})

    def __str__(self) -> str:
        # OSError subclasses would print errno tuples; the sentence is what people and models read.
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.path, self.suggested_action, self.details))


def _rebuild(
    kind: type[FileToolsError], message: str, path: str | None, action: str | None, details: dict[str, Any]
) -> FileToolsError:
    error = kind.__new__(kind, message)
    FileToolsError.__init__(error, message, path=path, suggested_action=action, details=details)
    return error


class InternalError(FileToolsError):
    """Raised when an invariant of filetools itself is broken; always a defect worth reporting."""

    action = "Report this with its message: it is a defect of filetools."


class InvalidArgumentError(FileToolsError, ValueError):
    """Raised when an argument has the wrong type, range or combination."""

    code = "INVALID_ARGUMENT"
    action = "Correct the argument that the message names, then repeat the call."


class InvalidPathError(FileToolsError, ValueError):
    """Raised when a path cannot name a file: empty, blank, NUL, not encodable, or the root where a file is meant."""

    code = "INVALID_PATH"
    action = "Name a file by a path relative to the workspace root, without control characters."

    def __init__(self, path: str, reason: str, *, suggested_action: str | None = None) -> None:
        shown = path.encode("utf-8", "backslashreplace").decode()
        super().__init__(f"Invalid path {shown!r}: {reason}", path=shown, suggested_action=suggested_action)


class AbsolutePathError(FileToolsError, ValueError):
    """Raised when a path carries a drive letter, a UNC prefix, or lies outside the root as an absolute path."""

    code = "ABSOLUTE_PATH"
    action = "Use a path relative to the workspace root."

    def __init__(self, path: str) -> None:
        super().__init__(f"Absolute path not allowed: {path!r}", path=path)


class PathTraversalError(FileToolsError, ValueError):
    """Raised when a segment of a path is '..', even where the result would stay inside."""

    code = "PATH_TRAVERSAL"
    action = "Write the path without '..' segments, relative to the workspace root."

    def __init__(self, path: str) -> None:
        super().__init__(f"Path {path!r} contains a '..' segment", path=path)


class PathTooLongError(FileToolsError, ValueError):
    """Raised when a path exceeds 4096 bytes or one of its segments 255 bytes."""

    code = "PATH_TOO_LONG"
    action = "Use a shorter path: at most 255 bytes per name, 4096 in all."

    def __init__(self, path: str, reason: str = "over 4096 bytes, or a segment over 255 bytes") -> None:
        shown = path if len(path) <= 80 else f"{path[:77]}..."
        super().__init__(f"Path too long: {shown!r} ({reason})", path=shown)


class SymlinkNotAllowedError(FileToolsError, PermissionError):
    """Raised when a path contains a symbolic link, or ends at one."""

    code = "SYMLINK_NOT_ALLOWED"
    action = "Use the path of the real file."

    def __init__(self, path: str, link: str, target: str | None = None) -> None:
        pointing = f" (it points to {target!r})" if target is not None else ""
        super().__init__(
            f"{link!r} is a symbolic link{pointing}",
            path=path,
            details={"link": link, **({"target": target} if target else {})},
        )


class SymlinkEscapeError(FileToolsError, PermissionError):
    """Raised when a followed symbolic link leads outside the workspace."""

    code = "SYMLINK_ESCAPE"
    action = "Use a file inside the workspace; filetools does not follow links out of it."

    def __init__(self, path: str, link: str) -> None:
        super().__init__(
            f"{link!r} is a symbolic link that leads outside the workspace", path=path, details={"link": link}
        )


class PathNotFoundError(FileToolsError, FileNotFoundError):
    """Raised when the named file does not exist."""

    code = "FILE_NOT_FOUND"
    action = "Check the path with list_files or search_files."

    def __init__(self, path: str) -> None:
        super().__init__(f"File not found: {path}", path=path)


class DirectoryNotFoundError(FileToolsError, FileNotFoundError):
    """Raised when the named directory, or a parent that must exist, does not exist."""

    code = "DIR_NOT_FOUND"
    action = "Check the path with list_files, or create the directory first."

    def __init__(self, path: str) -> None:
        super().__init__(f"Directory not found: {path or '.'}", path=path)


class PathExistsError(FileToolsError, FileExistsError):
    """Raised when something already exists where a new file or directory should be created."""

    code = "FILE_EXISTS"
    action = "Choose another path, or use write_file to replace the file."

    def __init__(self, path: str) -> None:
        super().__init__(f"Already exists: {path}", path=path)


class PathIsDirectoryError(FileToolsError, IsADirectoryError):
    """Raised when a file operation meets a directory."""

    code = "IS_A_DIRECTORY"
    action = "Name a file in it; list_files shows what is there."

    def __init__(self, path: str) -> None:
        super().__init__(f"Is a directory: {path or '.'}", path=path)


class PathNotDirectoryError(FileToolsError, NotADirectoryError):
    """Raised when a directory operation, or a parent of a path, meets a file."""

    code = "NOT_A_DIRECTORY"
    action = "Use the file as the path, or the folder that it is in."

    def __init__(self, path: str) -> None:
        super().__init__(f"Not a directory: {path}", path=path)


class NotRegularFileError(FileToolsError, OSError):
    """Raised when a path names a device, pipe or socket."""

    code = "NOT_A_REGULAR_FILE"
    action = "Name a regular file; list_files shows what each name is."

    def __init__(self, path: str, kind: str = "special file") -> None:
        super().__init__(f"Not a regular file: {path} is a {kind}", path=path)


class DirectoryNotEmptyError(FileToolsError, OSError):
    """Raised when a directory to be deleted still has entries and `recursive` was not given."""

    code = "DIR_NOT_EMPTY"
    action = "Pass recursive=true to delete the directory with everything in it."

    def __init__(self, path: str) -> None:
        super().__init__(f"Directory not empty: {path}", path=path)


class AccessDeniedError(FileToolsError, PermissionError):
    """Raised when the operating system or a rule about unreachable paths denies access."""

    code = "PERMISSION_DENIED"
    action = "Ask the user for access to it, or choose another path."

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

    def __init__(self) -> None:
        super().__init__(
            "the workspace",
            "it has no state yet, and was opened without creating one",
            suggested_action="Create the state with 'filetools init', or open the root without create=False.",
        )


class HoldsStateError(AccessDeniedError):
    """Raised when a folder to be deleted or moved contains the state of filetools."""

    def __init__(self, folder: str, state: str) -> None:
        super().__init__(
            folder,
            f"it contains the state of filetools at {state!r}",
            suggested_action="Delete or move what is in the folder, and leave the state where it is.",
        )
        self.details["state"] = state


class DiskFullError(FileToolsError, OSError):
    """Raised when the disk or the quota is full; the old content is intact."""

    code = "DISK_FULL"
    action = "Free some space, then try again."

    def __init__(self, path: str) -> None:
        super().__init__(f"No space left for {path}", path=path)


class StorageFailedError(FileToolsError, OSError):
    """Raised when the disk, its driver or its file system failed, as with EIO; what was asked may not have happened."""

    action = "Check the disk and the system log, then try again."

    def __init__(self, path: str, reason: str, *, suggested_action: str | None = None) -> None:
        super().__init__(f"Storage failed at {path or '.'}: {reason}", path=path, suggested_action=suggested_action)


class FileTooLargeError(FileToolsError, ValueError):
    """Raised when a file exceeds the limit of an operation."""

    code = "FILE_TOO_LARGE"
    action = "Read a part: pass offset and limit (lines), or byte_offset and byte_count."

    def __init__(self, path: str, size: int, limit: int) -> None:
        super().__init__(
            f"File too large: {path} has {size} bytes, the limit is {limit}",
            path=path,
            details={"size": size, "limit": limit},
        )


class EncodingError(FileToolsError, ValueError):
    """Raised when text cannot be decoded or encoded; names the character or byte and its position."""

    code = "ENCODING_ERROR"
    action = "Leave out the characters that the encoding lacks."

    def __init__(self, path: str, encoding: str, reason: str, *, position: int | None = None) -> None:
        super().__init__(
            f"Encoding error in {path} ({encoding}): {reason}",
            path=path,
            details={"encoding": encoding, **({"position": position} if position is not None else {})},
        )


class LockTimeoutError(FileToolsError, TimeoutError):
    """Raised when a file's lock was not free within the waiting time."""

    code = "LOCK_TIMEOUT"
    retryable = True
    action = "Wait 5 seconds and retry"

    def __init__(self, path: str, seconds: float, holder: str | None = None, *, reason: str | None = None) -> None:
        held = f"; held by {holder}" if holder else ""
        super().__init__(
            reason or f"Could not lock {path} within {seconds:g} s{held}",
            path=path,
            details={"seconds": seconds, **({"holder": holder} if holder else {})},
        )


class SyncFailedError(FileToolsError):
    """Raised when a strict mirror refused a write, or a synchronisation could not run."""

    code = "SYNC_FAILED"
    retryable = True
    action = "Wait 5 seconds and retry"

    def __init__(self, path: str | None, reason: str) -> None:
        about = f" for {path}" if path else ""
        super().__init__(f"Synchronisation failed{about}: {reason}", path=path)


class NetworkError(FileToolsError, ConnectionError):
    """Raised when a remote store or peer did not answer."""

    code = "NETWORK_ERROR"
    retryable = True
    action = "Wait 5 seconds and retry"


class EditConflictError(FileToolsError):
    """Raised when two changes touch the same text and cannot be merged."""

    code = "EDIT_CONFLICT"
    action = "Read the file and repeat the change on its current text."


class EditNotFoundError(FileToolsError, ValueError):
    """Raised when the text that an edit or a patch replaces is not in the file, or less often than it says."""

    code = "EDIT_NOT_FOUND"
    action = "Read the file and repeat the edit with text copied from it."

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
            what: What was looked for and how often it was there.
            closest: Where the file is most like it: `start_line`, `end_line`, `text`, `why`, `difference`.
            lines: Lines, from 1, of the matches there are.
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


class EditAmbiguousError(FileToolsError, ValueError):
    """Raised when the text that an edit or a patch replaces is in the file more often than it says."""

    code = "EDIT_AMBIGUOUS"
    action = "Include more of the surrounding lines."

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
            what: What was looked for and how often it was there.
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


class VersionMismatchError(FileToolsError):
    """Raised when a file is not at the version the caller expected."""

    code = "VERSION_MISMATCH"
    action = "Read the file and repeat the change on its current text."

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
            current: The version that stands there; None if nothing does.
            reason: What is wrong, where that is not plain.
            diff: What has changed since the version that the caller named or knew.
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


class ApprovalRequiredError(FileToolsError, PermissionError):
    """Raised when a call needs a person's approval and none was given."""

    code = "APPROVAL_REQUIRED"
    action = "Ask the user to approve this call, then repeat it unchanged."

    def __init__(self, tool: str, path: str | None, reason: str, approval_id: str | None = None) -> None:
        about = f" on {path}" if path else ""
        super().__init__(
            f"{tool}{about} needs approval: {reason}",
            path=path,
            details={"tool": tool, "reason": reason, **({"approval_id": approval_id} if approval_id else {})},
        )


class ApprovalDeniedError(FileToolsError, PermissionError):
    """Raised when a person rejected the call."""

    code = "APPROVAL_DENIED"
    action = "Do not repeat the call; ask the user how to continue."

    def __init__(self, tool: str, path: str | None) -> None:
        super().__init__(f"{tool}{f' on {path}' if path else ''} was denied", path=path, details={"tool": tool})


class ToolBlockedError(FileToolsError, PermissionError):
    """Raised when the permission rules block a tool."""

    code = "TOOL_BLOCKED"
    action = "Do not repeat the call; ask the user to change the permissions, or continue without it."

    def __init__(self, tool: str, path: str | None, reason: str) -> None:
        super().__init__(
            f"{tool}{f' on {path}' if path else ''} is blocked: {reason}",
            path=path,
            details={"tool": tool, "reason": reason},
        )


class HiddenPathError(FileToolsError, PermissionError):
    """Raised when an agent asks for the content of a file of secrets."""

    code = "PATH_HIDDEN"
    action = "Do not look for its content in another way; ask the user for what you need to know of it."

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is hidden by a rule: agents neither read nor change it (hidden_paths)", path=path)


class UnknownToolError(FileToolsError, LookupError):
    """Raised when no tool of that name is registered."""

    code = "UNKNOWN_TOOL"
    action = "Use one of the tools that are listed."

    def __init__(self, name: str, available: Sequence[str], nearest: str | None = None) -> None:
        hint = f" Did you mean {nearest}?" if nearest else ""
        super().__init__(
            f"Unknown tool: {name}",
            suggested_action=f"Use one of: {', '.join(available)}.{hint}",
            details={"available": list(available), **({"nearest": nearest} if nearest else {})},
        )


class CallTimeoutError(FileToolsError, TimeoutError):
    """Raised when a call exceeded its time limit; locks and approvals are not counted."""

    code = "TIMEOUT"
    action = "Ask for less at a time, then repeat the call."

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what} did not finish within {seconds:g} s", details={"seconds": seconds})


class AbortedError(FileToolsError):
    """Raised when the caller's abort signal stopped a call."""

    code = "ABORTED"
    action = "Repeat the call if it is still wanted."

    def __init__(self, what: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{what} was aborted", details=details)


class BatchFailedError(FileToolsError):
    """Raised when one file of a batch failed; nothing of the batch was applied."""

    code = "BATCH_FAILED"
    action = "Correct the file that failed, then repeat the whole batch."

    def __init__(self, cause: FileToolsError) -> None:
        super().__init__(
            f"Nothing was changed: {cause.message}",
            path=cause.path,
            suggested_action=cause.suggested_action,
            details={"cause": cause.code, **cause.details},
        )


class RateLimitedError(FileToolsError):
    """Raised when a caller exceeded a rate limit."""

    code = "RATE_LIMITED"
    retryable = True
    action = "Wait 1 second and retry"

    def __init__(self, message: str, *, path: str | None = None, wait_seconds: int | None = None) -> None:
        known = wait_seconds is not None
        super().__init__(
            message,
            path=path,
            suggested_action=f"Wait {wait_seconds} s and retry" if known else None,
            details={"wait_seconds": wait_seconds} if known else None,
        )


class FileBusyError(FileToolsError):
    """Raised when another program keeps writing a file."""

    code = "FILE_BUSY"
    retryable = True
    action = "Wait until the other program has finished writing, then retry"

    def __init__(self, path: str) -> None:
        super().__init__(f"Another program is still writing {path}", path=path)


class ChangedMeanwhileError(FileToolsError):
    """Raised when a file kept changing during every try of one call."""

    code = "CHANGED_MEANWHILE"
    retryable = True
    action = "Retry the call"

    def __init__(self, path: str, tries: int) -> None:
        super().__init__(f"{path} changed during each of {tries} tries", path=path, details={"tries": tries})


class HardLinkedError(FileToolsError, PermissionError):
    """Raised when a file has several names, and the settings do not allow to separate them."""

    code = "HARD_LINKED"
    action = "Write to another path, or have the user set hard_links to 'break', which replaces only this name."

    def __init__(self, path: str, links: int) -> None:
        super().__init__(
            f"{path} has {links} names (hard links), and the settings do not allow to separate them",
            path=path,
            details={"links": links},
        )


class VersionGoneError(FileToolsError, LookupError):
    """Raised when the bytes of a version are no longer kept."""

    code = "VERSION_GONE"
    action = "Omit the version to get the current text."

    def __init__(self, path: str | None, version: str) -> None:
        super().__init__(f"Version {version} is no longer kept", path=path, details={"version": version})


class WorkspaceGoneError(FileToolsError, OSError):
    """Raised when the root was deleted, replaced or unmounted while open, or does not exist."""

    code = "WORKSPACE_GONE"
    action = "Open the workspace again."

    def __init__(self, reason: str) -> None:
        super().__init__(f"The workspace is gone: {reason}")


class StateDamagedError(FileToolsError, OSError):
    """Raised when the journal is corrupt or no longer the file that was opened; the files are untouched."""

    code = "STATE_DAMAGED"
    action = "Run 'filetools doctor --repair' to set the damaged journal aside and start a fresh one."

    def __init__(self, reason: str, *, suggested_action: str | None = None) -> None:
        super().__init__(f"The state in .filetools is damaged: {reason}", suggested_action=suggested_action)


class StateVersionError(FileToolsError):
    """Raised when the state was written by a version of filetools with another schema; nothing was changed."""

    code = "STATE_VERSION"
    action = (
        "Open it with the version of filetools that wrote it, or move the state directory (.filetools) away to start a new"
        " history; the files stay."
    )

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"The state directory has schema {found}; this version of filetools opens schema {known} only",
            details={"found": found, "known": known},
        )


class StateElsewhereError(FileToolsError):
    """Raised when a root is bound to another state directory than the one given."""

    code = "STATE_ELSEWHERE"
    action = "Open the root with the state directory it was first opened with."

    def __init__(self) -> None:
        super().__init__("This root already keeps its state in another directory")


class StateUntrustedError(FileToolsError):
    """Raised when a state directory cannot be used safely: another user owns or can write it, or it was exchanged."""

    code = "STATE_UNTRUSTED"

    def __init__(self, directory: object, reason: str, action: str) -> None:
        super().__init__(f"The state directory {str(directory)!r} is not trusted: {reason}", suggested_action=action)


class OutcomeUnknownError(FileToolsError):
    """Raised when the connection broke during a commit and its outcome is unknown."""

    code = "OUTCOME_UNKNOWN"
    retryable = True
    action = "Repeat the call with the same call id; it is applied at most once."


class BufferClosedError(FileToolsError, LookupError):
    """Raised when a handle holds no open document: it was closed, or its lease ran out."""

    code = "BUFFER_CLOSED"
    action = "Open the document again; unsaved text of an expired handle is among the versions of its path."

    def __init__(self, path: str | None = None) -> None:
        super().__init__("This handle holds no open document any more", path=path)


class ResyncRequiredError(FileToolsError):
    """Raised when edits were made on a text of a document too old for them to be carried to the newest."""

    code = "RESYNC"
    action = "Read the document's newest text and version, and repeat the edits on it."

    def __init__(self, path: str, buffer_version: int, newest: int) -> None:
        super().__init__(
            f"{path} is at buffer version {newest}; the edits since {buffer_version} are no longer kept",
            path=path,
            details={"buffer_version": buffer_version, "newest_version": newest},
        )


class DescriptorError(FileToolsError, LookupError):
    """Raised when a descriptor cannot be read; subclasses say why."""

    code = "FD_READ_ERROR"
    action = "Call the tool that gave the text again."

    def __init__(self, fd: str, message: str) -> None:
        super().__init__(message, details={"fd": fd, "type": self.code.removeprefix("FD_").lower()})


class DescriptorNotFoundError(DescriptorError):
    """Raised when the owner has no descriptor with this id."""

    code = "FD_NOT_FOUND"
    action = "Use one of the ids that the message names, or list_fds."

    def __init__(self, fd: str, known: Sequence[str]) -> None:
        super().__init__(fd, f"File descriptor {fd} not found. Available FDs: {', '.join(known) or 'none'}")


class DescriptorExpiredError(DescriptorError):
    """Raised when the text of a descriptor is no longer kept: it was not used for long, or room was needed."""

    code = "FD_EXPIRED"

    def __init__(self, fd: str) -> None:
        super().__init__(fd, f"File descriptor {fd} has expired")


class InvalidPageError(DescriptorError):
    """Raised when a descriptor has no page with this number."""

    code = "FD_INVALID_PAGE"
    action = "Ask for a page in the range that the message names."

    def __init__(self, fd: str, last: int) -> None:
        super().__init__(fd, f"Invalid page number. Valid range: 1-{last}")


class InvalidRangeError(DescriptorError):
    """Raised when a descriptor has no such line or character."""

    code = "FD_INVALID_RANGE"
    action = "Start in the range that the message names."

    def __init__(self, fd: str, unit: str, first: int, last: int) -> None:
        super().__init__(fd, f"Invalid {unit} start position. Valid range: {first}-{last}")


class ProjectNotFoundError(FileToolsError, LookupError):
    """Raised when no project has this id."""

    code = "PROJECT_NOT_FOUND"
    action = "Use the id of a registered project, or pass path."

    def __init__(self, project_id: str) -> None:
        super().__init__(f"Project not found: {project_id}")


class RunNotFoundError(FileToolsError, LookupError):
    """Raised when no run has this id."""

    code = "RUN_NOT_FOUND"
    action = "Use an id from the list of runs."

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run not found: {run_id}")


class ProjectExistsError(FileToolsError, ValueError):
    """Raised when a folder to be registered as a project is one already."""

    code = "PROJECT_EXISTS"
    action = "Use the existing project."

    def __init__(self, path: str, project_id: str) -> None:
        super().__init__(f"A project already exists at {path}: {project_id}", details={"id": project_id})


class AgentFailedError(FileToolsError):
    """Raised when an agent's program cannot be started, or ended without an answer."""

    code = "AGENT_FAILED"
    action = "Check that the agent's command is installed, and answers when it is run by hand."

    def __init__(self, program: str, reason: str) -> None:
        super().__init__(f"The agent {program!r} failed: {reason}")


class TooManyRunsError(FileToolsError):
    """Raised when the maximum number of agents is running."""

    code = "TOO_MANY_RUNS"
    retryable = True
    action = "Wait until one of the runs has ended, or stop one, then retry."

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} agents run already, which is the limit", details={"limit": limit})


class GitFailedError(FileToolsError):
    """Raised when git failed; subclasses say why where that is known."""

    code = "GIT_FAILED"
    action = "Ask the user to run the command in a terminal, or continue without git."

    def __init__(self, reason: str) -> None:
        super().__init__(f"Git command failed: {reason}")


class NotARepositoryError(GitFailedError):
    """Raised when a folder is in no git repository."""

    code = "NOT_A_REPOSITORY"
    action = "Continue without git: this folder has no commits."

    def __init__(self) -> None:
        super().__init__("not a git repository")


class GitNotFoundError(GitFailedError):
    """Raised when git is not installed."""

    code = "GIT_NOT_FOUND"
    action = "Ask the user to install git, or continue without it."

    def __init__(self) -> None:
        super().__init__("git is not installed")
