"""Where a change may lie when its neighbours repeat it: groups of changed elements slid to one settled place."""

from __future__ import annotations

from typing import Final

from filetools.content.myers import Ids

_STEPS_PER_ELEMENT: Final = 16


def settle(elements: Ids, kept: bytearray, other_kept: bytearray) -> None:
    """Slide every group of changed elements down as far as it goes, or to a change of the other side that it meets.

    A group whose first element equals the one below its end may as well lie one further down. Groups that meet become
    one. The number of kept elements stays, so the two sides still belong together.

    Args:
        elements: The elements of one side.
        kept: Which of them are kept; changed in place.
        other_kept: Which elements of the other side are kept.
    """
    slider = _Slider(elements, kept, _changes_before(other_kept))
    end, at = 0, kept.find(0)
    while at >= 0 and slider.steps_left > 0:
        end = slider.settle_group(at, slider.kept_before + at - end)
        at = kept.find(0, end)


def _changes_before(kept: bytearray) -> bytes:
    """Return for each kept element, and the end, 1 if changed elements lie between it and the kept one before."""
    first, *runs = kept.split(b"\0")
    is_changed_at_end = bool(runs) and not runs[-1]
    parts = [bytes(len(first)), *(b"\1" + bytes(len(run) - 1) for run in runs if run), bytes([is_changed_at_end])]
    return b"".join(parts)


class _Slider:
    """Slides the groups of one side, from the first to the last; lives for one call."""

    def __init__(self, elements: Ids, kept: bytearray, changes_before: bytes) -> None:
        self._elements, self._kept, self._changes_before = elements, kept, changes_before
        self._start = self._end = 0
        self.kept_before = 0
        # Merging groups are slid again; a limit keeps a long repetition from being walked without end.
        self.steps_left = _STEPS_PER_ELEMENT * len(kept) + 1

    def settle_group(self, start: int, kept_before: int) -> int:
        """Settle the group that begins at `start` and return where it ends."""
        self._start, self.kept_before = start, kept_before
        self._end = self._end_of_group(start)
        size = 0
        met = -1
        while size != self._end - self._start and self.steps_left > 0:
            size = self._end - self._start
            self._slide_up()
            met = self._slide_down()
        if met >= 0:
            self._move_up(self._end - met)
        return self._end

    def _slide_up(self) -> None:
        elements, kept = self._elements, self._kept
        start, end = self._start, self._end
        first = end
        while start > 0 and elements[start - 1] == elements[end - 1] and self.steps_left > 0:
            start, end = start - 1, end - 1
            kept[start], kept[end] = 0, 1
            self.steps_left -= 1
            while start > 0 and not kept[start - 1]:
                start -= 1
        self._start, self._end = start, end
        self.kept_before -= first - end

    def _slide_down(self) -> int:
        """Slide to the lowest place; return the end of the group where it last met a change of the other side."""
        elements, kept, size = self._elements, self._kept, len(self._elements)
        start, end, before = self._start, self._end, self.kept_before
        met = end if self._changes_before[before] else -1
        while end < size and elements[start] == elements[end] and self.steps_left > 0:
            kept[start], kept[end] = 1, 0
            start, end, before = start + 1, end + 1, before + 1
            self.steps_left -= 1
            if end < size and not kept[end]:
                end = self._end_of_group(end)
                # The group grew, and a larger one need not fit where the smaller met a change.
                met = -1
            if self._changes_before[before]:
                met = end
        self._start, self._end, self.kept_before = start, end, before
        return met

    def _move_up(self, steps: int) -> None:
        """Undo the last steps down, during which the group did not grow."""
        self._kept[self._start : self._end] = b"\1" * (self._end - self._start)
        self._start, self._end = self._start - steps, self._end - steps
        self._kept[self._start : self._end] = bytes(self._end - self._start)
        self.kept_before -= steps

    def _end_of_group(self, at: int) -> int:
        end = self._kept.find(1, at)
        return len(self._kept) if end < 0 else end
