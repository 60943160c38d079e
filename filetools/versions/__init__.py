"""Versions: who knows them, what stale writes make of them, how changes are taken back, and who wrote which line."""
