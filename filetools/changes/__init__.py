"""Changes of the tree: decisions, the steps that apply them, their pipeline, and what other programs did."""
