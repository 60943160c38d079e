"""Paged listings, tree walks, and searches of names and contents."""
