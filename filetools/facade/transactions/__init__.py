"""Transactions of a caller's own: buffered in memory, done all or nothing at the end of their block."""
