"""The socket that listens: what each connection gets from it."""

from __future__ import annotations

import socket
import sys

import pytest

from filetools.servers.http.options import HttpLimits, HttpOptions
from filetools.servers.http.serving import listen


@pytest.mark.parametrize(("host", "told"), [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("127.1", "127.1")])
def test_what_listens_at_one_address_is_called_by_it_alone(host: str, told: str) -> None:
    listener = listen(HttpOptions(host=host, port=0))
    assert listener.addresses == (f"http://{told}:{listener.options.port}",)
    listener.socket.close()


def test_answers_in_parts_are_sent_at_once() -> None:
    listener = listen(HttpOptions(port=0))
    # What asyncio looks at; without it each answer in two parts waits for the client's delayed acknowledgement, 40 ms.
    assert listener.socket.proto == socket.IPPROTO_TCP
    listener.socket.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the options are Linux's")
def test_what_a_client_does_not_read_is_bounded_by_the_system() -> None:
    listener = listen(HttpOptions(port=0, limits=HttpLimits(send_seconds=7.0)))
    with socket.create_connection(listener.socket.getsockname()):
        accepted, _ = listener.socket.accept()
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 7000
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == 128 * 1024
        accepted.close()
    listener.socket.close()
