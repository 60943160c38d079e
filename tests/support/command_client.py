"""Runs `filetools` through a `command_server`, whose socket is inherited or named: a command without its imports."""

from __future__ import annotations

import json
import os
import socket
import sys

VARIABLE = "COMMAND_SERVER"
"""Number of the inherited socket, or the path of one to connect to."""


def main() -> int:
    """Have the server run the command with our streams, and return its exit code."""
    environment = dict(os.environ)
    found = environment.pop(VARIABLE)
    if found.isdigit():
        connection = socket.socket(fileno=int(found))
    else:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(found)
    source, report = os.pipe()
    request = {"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": environment}
    socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2, report])
    os.close(report)
    with open(source) as told:
        _, code = told.readline(), told.readline()
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
