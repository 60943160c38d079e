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


def test_a_missing_directory_is_named_as_one(workspace: Workspace) -> None:
    error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    assert workspace.explain(workspace.resolve("a"), error, directory=True).code == "DIR_NOT_FOUND"
