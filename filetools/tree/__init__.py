"""What is in the tree as far as filetools knows, and noticing what other programs changed."""
