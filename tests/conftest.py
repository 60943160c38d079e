"""What holds for all tests."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from filetools.facade.facade import FileToolsFacade

# What is imported and collected stays; looking through it for garbage again and again takes a third of the time.
gc.disable()

# `nohup` ignores SIGHUP, a shell ignores SIGINT for jobs in its background, and children inherit both. Tests send these
# signals to their children, which must get them as in a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Each opened root leaves a note in the user's configuration folder, and settings there would change what is tested.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="filetools-config-")
os.environ.pop("FILETOOLS_CONFIG_DIR", None)
atexit.register(shutil.rmtree, os.environ["XDG_CONFIG_HOME"], ignore_errors=True)

# The same examples in every run, however slow the machine: a failure comes back, and a run says something of the code
# alone. Others are tried with `--hypothesis-profile=default`.
settings.register_profile(
    "steady",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have each process begin with some modules of the page's tests, which wait for browsers while others compute.

    pytest-xdist gives each process as many tests in a row; one that got all of the page would be the last to end.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    modules: dict[str, list[pytest.Item]] = {}
    others: list[pytest.Item] = []
    for item in items:
        is_of_page = "/servers/http/web/" in item.nodeid
        (modules.setdefault(str(item.path), []) if is_of_page else others).append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(processes)]
    for module in sorted(modules.values(), key=len, reverse=True):
        min(shares, key=len).extend(module)
    left = len(items)
    for number, share in enumerate(shares):
        size = left // (processes - number)
        more = size - len(share)
        share += others[:more]
        del others[:more]
        left -= size
    items[:] = [item for share in shares for item in share] + others


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The test's own folder, with the files that its module names `BEFORE`."""
    from tests.support.crashing import grow

    grow(tmp_path, getattr(request.module, "BEFORE", {}))
    return tmp_path


@pytest.fixture
async def files(request: pytest.FixtureRequest, root: Path) -> AsyncIterator[FileToolsFacade]:
    """The root, opened with the `SETTINGS` and for the `ACTOR` that the test's module names, if any.

    Else nothing happens in the background, and no actor is named.
    """
    import filetools
    from tests.support.crashing import QUIET

    async with filetools.open(root, settings=getattr(request.module, "SETTINGS", QUIET)) as opened:
        actor = getattr(request.module, "ACTOR", None)
        yield opened if actor is None else opened.for_actor(actor)
