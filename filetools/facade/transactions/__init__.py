"""Calls on several files, all or nothing: batches, patches and transactions."""
