from __future__ import annotations

import pytest

from filetools.cli.exit_codes import exit_code, exit_code_of
from filetools.errors import BatchFailedError, InvalidArgumentError, LockTimeoutError, VersionMismatchError


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("INTERNAL", 1),
        ("FILE_NOT_FOUND", 1),
        ("SYNC_FAILED", 1),
        ("INVALID_ARGUMENT", 2),
        ("UNKNOWN_TOOL", 2),
        ("VERSION_MISMATCH", 3),
        ("EDIT_CONFLICT", 3),
        ("CHANGED_MEANWHILE", 3),
        ("LOCK_TIMEOUT", 4),
        ("FILE_BUSY", 4),
        ("APPROVAL_REQUIRED", 5),
        ("APPROVAL_DENIED", 5),
        ("TOOL_BLOCKED", 5),
        ("PERMISSION_DENIED", 5),
        ("PATH_TRAVERSAL", 5),
        ("SYMLINK_ESCAPE", 5),
        ("A_CODE_OF_LATER", 1),
    ],
)
def test_each_code_has_its_exit_code(code: str, expected: int) -> None:
    assert exit_code(code) == expected


def test_a_batch_fails_as_its_cause_does() -> None:
    assert exit_code_of(BatchFailedError(VersionMismatchError("a", "x", "y"))) == 3
    assert exit_code_of(BatchFailedError(LockTimeoutError("a", 30))) == 4


def test_an_error_has_the_exit_code_of_its_code() -> None:
    assert exit_code_of(InvalidArgumentError("no")) == 2
