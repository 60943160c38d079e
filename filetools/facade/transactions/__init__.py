"""Transactions of a caller: buffered in memory, applied all or nothing at the end of their block."""
