"""All doors at once on one root, each a process of its own, and what nobody may lose by that."""
