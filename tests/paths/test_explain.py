from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from filetools.errors import (
    AccessDeniedError,
    ChangedMeanwhileError,
    DirectoryNotEmptyError,
    DiskFullError,
    FileBusyError,
    FileToolsError,
    InvalidPathError,
    NetworkError,
    NotRegularFileError,
    PathExistsError,
    PathIsDirectoryError,
    PathNotDirectoryError,
    PathNotFoundError,
    PathTooLongError,
    RateLimitedError,
    StorageFailedError,
)
from filetools.paths.workspace import Workspace

KINDS: dict[str, type[FileToolsError]] = {
    "ENOENT": PathNotFoundError,
    "EEXIST": PathExistsError,
    "EISDIR": PathIsDirectoryError,
    "ENOTDIR": PathNotDirectoryError,
    "ENOTEMPTY": DirectoryNotEmptyError,
    "EACCES": AccessDeniedError,
    "EPERM": AccessDeniedError,
    "EROFS": AccessDeniedError,
    "EXDEV": AccessDeniedError,
    "ENOSPC": DiskFullError,
    "EDQUOT": DiskFullError,
    "EFBIG": DiskFullError,
    "ENAMETOOLONG": PathTooLongError,
    "EINVAL": InvalidPathError,
    "ENXIO": NotRegularFileError,
    "ELOOP": ChangedMeanwhileError,
    "EAGAIN": FileBusyError,
    "EBUSY": FileBusyError,
    "ETXTBSY": FileBusyError,
    "EMFILE": RateLimitedError,
    "ENFILE": RateLimitedError,
    "ENOMEM": RateLimitedError,
    "ESTALE": ChangedMeanwhileError,
    "ENOTCONN": NetworkError,
    "EIO": StorageFailedError,
    "ENOSYS": StorageFailedError,
    "EUCLEAN": StorageFailedError,
}


@pytest.mark.parametrize("name", KINDS)
def test_each_errno_has_its_class_and_names_only_the_relative_path(workspace: Workspace, root: Path, name: str) -> None:
    (root / "pipe").mkdir()
    error = OSError(getattr(errno, name), "words are not looked at", str(root / "folder" / "file"))
    explained = workspace.explain(workspace.resolve("folder/file"), error)
    assert type(explained) is KINDS[name]
    assert explained.path == "folder/file"
    assert "folder/file" in explained.message or isinstance(explained, (RateLimitedError, NetworkError))
    assert str(root) not in explained.message + str(explained.details)


def test_an_error_without_a_number_is_typed_too(workspace: Workspace) -> None:
    assert type(workspace.explain(workspace.resolve("a"), OSError("odd"))) is StorageFailedError


def test_a_typed_error_is_left_alone(workspace: Workspace) -> None:
    error = PathNotFoundError("other")
    assert workspace.explain(workspace.resolve("a"), error) is error


def test_a_missing_directory_is_named_as_one(workspace: Workspace) -> None:
    error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    assert workspace.explain(workspace.resolve("a"), error, directory=True).code == "DIR_NOT_FOUND"


def test_the_errors_of_calls_on_a_parent_are_explained(root: Path, workspace: Workspace) -> None:
    (root / "folder" / "below").mkdir(parents=True)
    (root / "file").touch()
    parent = workspace.open_directory(workspace.resolve(".", allow_root=True))
    for call, name, code in (
        (os.rmdir, "folder", "DIR_NOT_EMPTY"),
        (os.rmdir, "file", "NOT_A_DIRECTORY"),
        (os.unlink, "folder", "IS_A_DIRECTORY"),
        (os.unlink, "missing", "FILE_NOT_FOUND"),
        (os.mkdir, "file", "FILE_EXISTS"),
    ):
        with pytest.raises(OSError, match=name) as caught:
            call(name, dir_fd=parent)
        assert workspace.explain(workspace.resolve(name), caught.value).code == code
    os.close(parent)
