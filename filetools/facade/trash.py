"""The trash of deleted folders: kept for undo within the retention, the oldest emptied first; after a checkpoint all of it."""

from __future__ import annotations

from filetools.facade.parts import Parts


def tidy_trash(parts: Parts) -> int:
    """Empty what the journal has forgotten and what exceeds the retention; returns how many folders. Keeper only.

    Call it in a worker thread.
    """
    forgotten = parts.journal.forgotten()
    numbers = sorted(int(name) for name in parts.store.trash_names() if name.isdecimal())
    sizes = {number: parts.store.trash_bytes(str(number)) for number in numbers}
    total = sum(sizes.values())
    emptied = 0
    checkpoints = parts.journal.checkpoints.all()
    for number in numbers:
        is_within = number > forgotten and total <= parts.settings.retention_bytes
        if is_within or (checkpoints and number > checkpoints[0].number):
            break
        parts.store.empty_trash(str(number))
        total -= sizes[number]
        emptied += 1
    return emptied
