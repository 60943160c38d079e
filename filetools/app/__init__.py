"""Building an opened workspace from its settings."""

from filetools.app.opening import Opening, open_workspace

__all__ = ["Opening", "open_workspace"]
