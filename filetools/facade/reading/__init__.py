"""Implementation of the reading calls: texts, facts, versions, and the feed of changes."""
