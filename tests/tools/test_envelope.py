from __future__ import annotations

from filetools.errors import FileToolsError, PathNotFoundError, SymlinkNotAllowedError
from filetools.models.files import BatchResult, WriteResult
from filetools.tools.envelope import failure_envelope, success_envelope


def test_a_failure_whose_hint_was_taken_away_has_no_empty_one() -> None:
    error = FileToolsError("x")
    assert failure_envelope(error)["suggested_action"] == FileToolsError.action
    error.suggested_action = None
    assert "suggested_action" not in failure_envelope(error)


def test_details_name_the_path_and_keep_their_own() -> None:
    assert failure_envelope(PathNotFoundError("a"), 3)["attempts"] == 3
    assert failure_envelope(SymlinkNotAllowedError("a/b", "a"))["details"] == {"path": "a/b", "link": "a"}


def test_warnings_of_a_result_move_beside_its_data() -> None:
    result = WriteResult(path="a", bytes_written=1, created=True, version="v", warnings=[{"error_code": "SYNC_FAILED"}])
    envelope = success_envelope(result)
    assert envelope["warnings"] == [{"error_code": "SYNC_FAILED"}]
    assert "warnings" not in envelope["data"]
    batch = success_envelope(BatchResult(results=[result, result]))
    assert batch["warnings"] == [{"error_code": "SYNC_FAILED"}] * 2
    assert all("warnings" not in row for row in batch["data"]["results"])
    assert set(success_envelope({"path": "a"})) == {"success", "data"}
