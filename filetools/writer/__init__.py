"""The single writer: whatever changes the tree does so in turns, under one lock of the root."""
