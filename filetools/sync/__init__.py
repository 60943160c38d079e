"""Mirrors of the root."""
