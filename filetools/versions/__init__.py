"""Versions and who knows them: stamps, and what they make of a stale write."""

from filetools.versions.knowledge import Knowledge
from filetools.versions.rebase import Rebased, conflict_error, rebase

__all__ = ["Knowledge", "Rebased", "conflict_error", "rebase"]
