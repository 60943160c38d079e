"""The single writer: all changes of the tree are made in turns, under one lock; what a crash left half done is finished."""
