from __future__ import annotations

from filetools.models.files import BatchResult, WriteResult
from filetools.tools.envelope import success_envelope


def test_warnings_of_a_result_move_beside_its_data() -> None:
    result = WriteResult(path="a", bytes_written=1, created=True, version="v", warnings=[{"error_code": "SYNC_FAILED"}])
    envelope = success_envelope(result)
    assert envelope["warnings"] == [{"error_code": "SYNC_FAILED"}]
    assert "warnings" not in envelope["data"]
    batch = success_envelope(BatchResult(results=[result, result]))
    assert batch["warnings"] == [{"error_code": "SYNC_FAILED"}] * 2
    assert all("warnings" not in row for row in batch["data"]["results"])
    assert set(success_envelope({"path": "a"})) == {"success", "data"}
