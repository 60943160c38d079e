"""Mirrors of the root, and recovery of the root from crashes and power cuts."""
