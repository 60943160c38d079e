"""Noticing what others do: foreign changes of the tree, and the bell that other filetools processes ring."""
