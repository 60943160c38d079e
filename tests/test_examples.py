"""The pair of examples: the same people and agents over plain files, and over filetools."""

from __future__ import annotations

import subprocess
import sys

from tests.support.declared import REPOSITORY


def printed(name: str) -> str:
    program = REPOSITORY / "docs" / "examples" / name
    return subprocess.run((sys.executable, program), capture_output=True, text=True, check=True).stdout


def test_plain_files_lose_edits_and_filetools_loses_none() -> None:
    assert printed("fixed.py") == "lost: 0 of 30 edits\n"
    lost = int(printed("broken.py").split()[1])
    assert lost > 0
