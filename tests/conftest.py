"""What holds for all tests."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

import pytest
from hypothesis import HealthCheck, settings

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
    """Begin with the page's tests: they wait for browsers while others compute, and would be alone at the end."""
    items.sort(key=lambda item: "/servers/http/web/" not in item.nodeid)
