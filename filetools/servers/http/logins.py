"""Logins of people: a code that counts once and soon, and the two secrets that a browser gets for it.

Browsers send a cookie to every port of a host, so any web server on it gets to know the cookies of the others. The second
secret, the key, stays in the storage of the page's origin, port included, and is sent by the page alone.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from msgspec import Struct

CODE_SECONDS: Final = 60.0
LOGIN_SECONDS: Final = 12 * 3600.0
MOST_LOGINS: Final = 64


class Credentials(Struct, frozen=True, kw_only=True):
    """What a browser needs to act as a person; it is told once."""

    secret: str
    """Value of the cookie."""
    key: str
    """What the page keeps, and sends as a header."""


class _Login(Struct, frozen=True, kw_only=True):
    name: str
    key: str
    """Digest of the key."""
    origin: str
    until: float


class Logins:
    """The codes that wait to be used, and the browsers that have used one; both end with the server.

    Args:
        clock: Tells seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._codes: dict[str, float] = {}
        self._known: OrderedDict[str, _Login] = OrderedDict()

    def new_code(self) -> str:
        """Return a code that lets one browser in, within 60 s."""
        code = secrets.token_urlsafe(32)
        self._codes[_digest(code)] = self._clock() + CODE_SECONDS
        return code

    def redeem(self, code: str, origin: str) -> Credentials | None:
        """Return the secrets of a new login for a code, which is used up by that; None if it is none, or too late.

        Args:
            code: As it stood in the address that was opened.
            origin: Origin of the page that logs in; the login counts for no other.
        """
        # Kept and compared as digests: what a lookup tells by its time is worth nothing.
        until = self._codes.pop(_digest(code), None)
        if until is None or self._clock() > until:
            return None
        made = Credentials(secret=secrets.token_urlsafe(32), key=secrets.token_urlsafe(32))
        name, until = f"login-{secrets.token_hex(4)}", self._clock() + LOGIN_SECONDS
        self._known[_digest(made.secret)] = _Login(name=name, key=_digest(made.key), origin=origin.lower(), until=until)
        if len(self._known) > MOST_LOGINS:
            self._known.popitem(last=False)
        return made

    def login_of(self, secret: str, key: str, origin: str | None) -> str | None:
        """Return the id of the login that both secrets belong to; None if they do not, or it is over.

        Args:
            secret: Value of the cookie.
            key: The page's own secret.
            origin: Origin of the page, where the browser tells one.
        """
        found = self._known.get(_digest(secret))
        if found is None or self._clock() > found.until or origin not in (None, found.origin):
            return None
        return found.name if hmac.compare_digest(_digest(key), found.key) else None


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
