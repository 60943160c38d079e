"""Keeping the primary and its mirrors what the journal says: following, catching up, verifying, and recovery."""
