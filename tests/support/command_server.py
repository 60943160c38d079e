"""Starts `filetools` processes without their second of imports: forks them from one that has imported already.

Each is a process of its own with its own streams, folder, environment, session and exit code; what differs from
`python -m filetools` is only that the interpreter and what lies below the command line are loaded already.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import traceback
from typing import Any, Final, NoReturn

import click
from rich import console, progress, table

import filetools

LOADED: Final = (click, console, progress, table)
FRESH: Final = ("__main__", "adapters", "cli")
"""Loaded by each process: consoles look at the streams and the environment when they are made."""
LARGEST_REQUEST_BYTES = 200_000


def load() -> None:
    """Import everything below the command line."""
    for found in pkgutil.iter_modules(filetools.__path__):
        if found.name not in FRESH:
            package = importlib.import_module(f"filetools.{found.name}")
            for inner in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
                importlib.import_module(inner.name)


def serve(connection: socket.socket, listener: socket.socket) -> None:
    """Serve until the connection is closed: requests that come over it, and over connections that others make."""
    load()
    gc.freeze()  # else each process would copy the memory of all that is loaded, to look for garbage in it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    opened = [connection, listener]
    while True:
        for each in select.select(opened, [], [])[0]:
            if each is listener:
                opened.append(listener.accept()[0])
                continue
            request, descriptors, _, _ = socket.recv_fds(each, LARGEST_REQUEST_BYTES, 4)
            if not request and each is connection:
                return
            if not request:
                opened.remove(each)
                each.close()
            elif os.fork() == 0:
                for other in opened:
                    other.close()
                _supervise(json.loads(request), descriptors)
            for descriptor in descriptors:
                os.close(descriptor)


def _supervise(request: dict[str, Any], descriptors: list[int]) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, report = descriptors
    child = os.fork()
    if child == 0:
        os.close(report)
        _become(request, streams)
    for descriptor in streams:
        os.close(descriptor)
    os.write(report, f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(request: dict[str, Any], streams: list[int]) -> NoReturn:
    os.setsid()
    # A shell starts what runs in its background with Ctrl-C ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The tests themselves may run under nohup.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = ["filetools", *request["arguments"]]
    os._exit(_run(request.get("module", "filetools.__main__")))


def _run(module: str) -> int:
    try:
        runpy.run_module(module, run_name="__main__")
        sys.stdout.flush()
    except SystemExit as exc:
        sys.stdout.flush()
        return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except BaseException:  # noqa: BLE001 - whatever it is, this is the end of the process
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(*(socket.socket(fileno=int(number)) for number in sys.argv[1:]))
