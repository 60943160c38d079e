"""Holders of locks, and time limits of calls, which pause while a call waits for a lock or a person."""
