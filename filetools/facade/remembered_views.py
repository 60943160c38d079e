"""What the journal knew of a path when this process last changed it, so that the next change need not ask again.

What is remembered may be outdated: another process may have changed the path since, or an editor have opened it. So it may
lead to a commit alone, which compares it with the journal; whatever else would come of it is looked at again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from filetools.journal.changes import View

MOST_VIEWS: Final = 1024


class RememberedViews:
    """The newest views of paths, each good for one look. Any thread may call; lives as long as the workspace is open."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, View] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: str, view: View) -> None:
        """Remember what is known of a path, under its lock."""
        with self._lock:
            self._views[key] = view
            if len(self._views) > MOST_VIEWS:
                self._views.popitem(last=False)

    def take(self, key: str) -> View | None:
        """Return what is remembered of a path, and forget it: a second look asks the journal."""
        with self._lock:
            return self._views.pop(key, None)
