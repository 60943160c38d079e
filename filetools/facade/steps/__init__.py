"""The changes that can go the way of a write, one module a kind."""
