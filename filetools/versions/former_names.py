"""What bore a name once, and where it is now: moves followed from the past to the present, or to a draft of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Move:
    """A move that the walk has gone back over."""

    old: str
    """Name before it."""
    new: str
    where: str | None = None
    """Where the draft had it; None for a move that stays."""
    home: str = ""
    """Where the draft has it since the move was taken back."""


class FormerNames:
    """The moves that a walk back through the journal has passed. Lives for one walk."""

    def __init__(self) -> None:
        self._moves: list[_Move] = []

    def passed(self, old: str, new: str) -> None:
        """Go back over a move that stays."""
        self._moves.append(_Move(old, new))

    def never_mind(self, old: str, new: str) -> None:
        """Forget a move that was gone back over: with the older one that it reversed, nothing has moved."""
        self._moves.remove(_Move(old, new))

    def taken_back(self, old: str, new: str, *, where: str, home: str) -> None:
        """Go back over a move that the draft has taken back, from `where` to `home`."""
        self._moves.append(_Move(old, new, where, home))

    def now(self, path: str) -> str | None:
        """Return where the draft has what bore this name at the moment that the walk has reached.

        None if something else was moved to that name since.
        """
        later: list[_Move] = []
        for move in reversed(self._moves):
            is_old, is_new = _is_within(path, move.old), _is_within(path, move.new)
            if move.where is None:
                if is_new and not is_old:
                    return None
                path = _moved(path, move.old, move.new)
            elif is_old or is_new:
                path = _moved(path, move.old, move.home) if is_old else _moved(path, move.new, move.where)
                break
            else:
                later.append(move)
        for move in reversed(later):
            path = _moved(path, move.where or "", move.home)
        return path

    def place(self, path: str) -> str | None:
        """Return where the draft has what shall stand again at a path: in its folder, which may have moved."""
        folder, _, name = path.rpartition("/")
        now = self.now(folder) if folder else ""
        return None if now is None else f"{now}/{name}" if now else name


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _moved(path: str, source: str, destination: str) -> str:
    return destination + path[len(source) :] if _is_within(path, source) else path
