"""Building an opened workspace from its settings, and what doors need to know of it."""
