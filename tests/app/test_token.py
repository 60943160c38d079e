from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from filetools.app.state import TOKEN_FILE, own_token, read_token
from filetools.errors import AccessDeniedError, InvalidArgumentError


@pytest.mark.parametrize(
    "content", [b"", b"short", b"two words of some length", b"\xff" * 20, b"with\x07control-characters"]
)
def test_what_is_no_token_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(InvalidArgumentError, match="'secret'"):
        read_token(file)


def test_a_missing_file_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError):
        read_token(tmp_path / "secret")
    assert list(tmp_path.iterdir()) == []


def test_a_token_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(AccessDeniedError):
        own_token(tmp_path / "missing")


def test_a_token_is_made_once_for_all_and_for_its_owner(tmp_path: Path) -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(own_token(tmp_path))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found[0]) >= 40
    assert [each.name for each in tmp_path.iterdir()] == [TOKEN_FILE]
    assert stat.S_IMODE((tmp_path / TOKEN_FILE).stat().st_mode) == 0o600
