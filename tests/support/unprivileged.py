"""Run a function as another user: the superuser is refused nothing, so what others are refused is tested in a child."""

from __future__ import annotations

import codecs
import os
import pkgutil
import tempfile
import traceback
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

import filetools

NOBODY = 65534


def as_nobody(folder: Path, act: Callable[[], None], *, groups: tuple[int, ...] = ()) -> None:
    """Give a folder to nobody and call a function as nobody, in a forked child.

    Args:
        folder: Where the function works; its parents are opened for passing.
        act: What to do; an exception fails the caller with its traceback.
        groups: Further groups of the child.
    """
    # The child may be able to read neither the interpreter's own library nor ours.
    codecs.lookup("ascii")
    _import_everything()
    os.chown(folder, NOBODY, NOBODY)
    for parent in folder.parents:
        if parent.stat().st_uid == os.geteuid() and parent.stat().st_mode & 0o055 != 0o055 and len(parent.parts) > 2:
            parent.chmod(0o755)
    reader, writer = os.pipe()
    with tempfile.TemporaryDirectory(prefix="filetools-nobody-") as configuration:
        os.chown(configuration, NOBODY, NOBODY)
        child = os.fork()
        if child == 0:
            os.environ["FILETOOLS_CONFIG_DIR"] = configuration
            _finish(act, groups, writer)
        os.close(writer)
        with open(reader, encoding="utf-8") as report:
            said = report.read()
        _, status = os.waitpid(child, 0)
    assert status == 0, said


@cache
def _import_everything() -> None:
    for module in pkgutil.walk_packages(filetools.__path__, "filetools."):
        if not module.name.startswith(
            ("filetools.cli", "filetools.servers", "filetools.adapters.", "filetools.__main__")
        ):
            import_module(module.name)


def _finish(act: Callable[[], None], groups: tuple[int, ...], writer: int) -> None:
    code = 1
    try:
        os.setgroups(groups)
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        act()
        code = 0
    except BaseException:  # noqa: BLE001  # reported to the parent, which fails with it
        os.write(writer, traceback.format_exc().encode())
    finally:
        os._exit(code)
