"""Logins of people: a code that counts once and soon, and the secret that a browser gets for it."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

CODE_SECONDS: Final = 60.0
LOGIN_SECONDS: Final = 12 * 3600.0
MOST_LOGINS: Final = 64


class Logins:
    """The codes that wait to be used, and the browsers that have used one; both end with the server.

    Args:
        clock: Tells seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._known: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def new_code(self) -> str:
        """Return a code that lets one browser in, within 60 s."""
        code = secrets.token_urlsafe(32)
        self._codes[_digest(code)] = self._clock() + CODE_SECONDS
        return code

    def redeem(self, code: str) -> str | None:
        """Return the secret of a new login for a code, which is used up by that; None if it is none, or too late."""
        # Kept and compared as digests: what a lookup tells by its time is worth nothing.
        until = self._codes.pop(_digest(code), None)
        if until is None or self._clock() > until:
            return None
        secret = secrets.token_urlsafe(32)
        self._known[_digest(secret)] = (f"login-{secrets.token_hex(4)}", self._clock() + LOGIN_SECONDS)
        if len(self._known) > MOST_LOGINS:
            self._known.popitem(last=False)
        return secret

    def login_of(self, secret: str) -> str | None:
        """Return the id of the login that a secret belongs to; None if it is none, or over."""
        found = self._known.get(_digest(secret))
        if found is None:
            return None
        login, until = found
        return login if self._clock() <= until else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
