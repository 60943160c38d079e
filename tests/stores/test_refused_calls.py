"""Systems that refuse a call: each call falls back by itself, in real processes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WORK = """
import json, sys
from pathlib import Path
from filetools.paths.workspace import Workspace
from filetools.stores.local import LocalStore
root = Path(sys.argv[1])
workspace = Workspace.open(root)
store = LocalStore(workspace, private_directory=root / ".filetools")
at = workspace.resolve
store.prepare(at("new"), b"new", new=True).exchange()
out = store.prepare(at("file.txt"), b"two", new=False).exchange()
said = [store.read_now(at("file.txt"), 9) is not None, out.read().decode(), out.is_untouched()]
out.put_back()
said += [store.read(at("file.txt"))[0].decode(), out.read().decode()]
out.discard()
over = store.move(at("new"), at("folder/deep.txt"), overwrite=True)
said += [over.read().decode(), store.read(at("folder/deep.txt"))[0].decode()]
over.discard()
store.move(at("folder"), at("renamed"))
store.remove(at("renamed"), "1")
store.trashed(at("back"), "1").restore()
said += [sorted(entry.name for entry in store.scan(at("", allow_root=True)))]
print(json.dumps(said))
"""
EXPECTED = '"one", true, "one", "two", "deep", "new", ["back", "file.txt"]]'
CASES = [
    ("renameat2:error=ENOSYS", "[true, "),
    ("renameat2:error=EINVAL", "[true, "),
    ("renameat2:error=EINTR:when=2+3", "[true, "),
    ("preadv2:error=EOPNOTSUPP", "[false, "),
    ("preadv2:error=EAGAIN", "[false, "),
]


@pytest.mark.parametrize(("injected", "now"), CASES, ids=[case[0] for case in CASES])
def test_the_same_comes_out(tmp_path: Path, injected: str, now: str) -> None:
    if shutil.which("strace") is None:
        pytest.skip("no strace")
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "file.txt").write_bytes(b"one")
    (root / "folder/deep.txt").write_bytes(b"deep")
    command = [
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        f"inject={injected}",
        sys.executable,
        "-c",
        WORK,
        str(root),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "ptrace" in done.stderr or "PTRACE" in done.stderr:
        pytest.skip("strace is not permitted here")
    assert done.stdout == f"{now}{EXPECTED}\n", done.stderr
    assert list((root / ".filetools/tmp").iterdir()) == []
