"""Building an opened workspace from its settings, and what doors need to know of it."""

from filetools.app.health import Health, Repair, examine, repair
from filetools.app.opening import Opening, open_workspace
from filetools.facade import FileToolsFacade
from filetools.permissions import ApprovalAnswer, ApprovalRequest

__all__ = [
    "ApprovalAnswer",
    "ApprovalRequest",
    "FileToolsFacade",
    "Health",
    "Opening",
    "Repair",
    "examine",
    "open_workspace",
    "repair",
]
