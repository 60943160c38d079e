"""Writing what a command made to a file that its user names: the file appears whole, or stays as it was."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from filetools.cli.desk import Desk, SharedOptions
from filetools.cli.workplace import root_above
from filetools.errors import FileToolsError

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade
    from filetools.models.files import WriteResult


def save(content: IO[bytes], output: str, *, actor: str | None) -> None:
    """Make or replace a file, with missing folders; in a root that is a change like any other, which can be undone.

    Args:
        content: Read from where it stands.
        output: What is relative is so to the working folder; links are followed.
        actor: Name of the agent that writes in a root; None for a person.

    Raises:
        FileToolsError: The root refuses it.
        OSError: It cannot be written.
    """
    place = Path(os.path.realpath(output))
    root = root_above(place.parent)
    if root is None:
        _replace(place, content)
        return
    desk = _Raising(SharedOptions(root=root, actor=actor))

    async def work(files: FileToolsFacade) -> WriteResult:
        return await files.replace_file(desk.path(str(place)), content.read())

    desk.perform(work, lambda _: None)


class _Raising(Desk):
    def fail(self, error: FileToolsError) -> NoReturn:
        raise error


def _replace(place: Path, content: IO[bytes]) -> None:
    mode, temporary = _mode(place), place.parent / f".filetools-{secrets.token_hex(8)}"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            shutil.copyfileobj(content, file)
            file.flush()
            os.fsync(file.fileno())  # else a power cut could leave the name with nothing behind it
        temporary.replace(place)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(place)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def _mode(place: Path) -> int | None:
    """Return the permissions of the file that is replaced, None if there is none; refuses what is no file to write to."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return None
    # A rename would put a file even into the place of a device, or of a file that is meant to stay.
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "It is no file", str(place))
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
    return stat.S_IMODE(mode)
