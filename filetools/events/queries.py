"""Questions that go over the bus: whoever knows answers, the first answer counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from filetools.events.listeners import Tally
from filetools.events.subscriptions import Subscription

Responder = Callable[[Any], Any | Awaitable[Any]]
"""Receives the payload of a query and returns an answer or None; plain or async."""


class Responders:
    """Who answers which queries; lives as long as its bus."""

    def __init__(self, tally: Tally) -> None:
        self._by_name: dict[str, dict[Subscription, Responder]] = {}
        self._tally = tally

    def add(self, name: str, responder: Responder) -> Subscription:
        """Ask a responder whenever nobody before it answers."""
        subscription = Subscription(name, self._remove)
        self._by_name.setdefault(name, {})[subscription] = responder
        return subscription

    async def ask(self, name: str, payload: Any) -> Any | None:
        """Return the first answer that is not None, or None."""
        for subscription, responder in list(self._by_name.get(name, {}).items()):
            answer = await self._ask_one(responder, payload) if subscription.is_active else None
            if answer is not None:
                return answer
        return None

    def clear(self) -> None:
        """End all subscriptions."""
        for responders in list(self._by_name.values()):
            for subscription in list(responders):
                subscription.unsubscribe()

    async def _ask_one(self, responder: Responder, payload: Any) -> Any | None:
        try:
            answer = responder(payload)
            return await answer if isawaitable(answer) else answer
        except Exception:  # noqa: BLE001 - foreign code: the next responder may know
            self._tally.count_failure(responder)
            return None

    def _remove(self, subscription: Subscription) -> None:
        responders = self._by_name[subscription.pattern]
        del responders[subscription]
        if not responders:
            del self._by_name[subscription.pattern]
