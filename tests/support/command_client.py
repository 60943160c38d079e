"""Runs `filetools` through the `command_server` whose socket it has inherited: a command of a shell, without its imports."""

from __future__ import annotations

import json
import os
import socket
import sys

VARIABLE = "COMMAND_SERVER"
"""Number of the inherited socket."""


def main() -> int:
    """Have the server run the command with our streams, and return its exit code."""
    environment = dict(os.environ)
    connection = socket.socket(fileno=int(environment.pop(VARIABLE)))
    source, report = os.pipe()
    request = {"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": environment}
    socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2, report])
    os.close(report)
    with open(source) as told:
        _, code = told.readline(), told.readline()
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
