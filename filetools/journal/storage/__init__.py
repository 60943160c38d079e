"""The database and the files beside it: creating, opening, locking, writing, checking and repairing them."""
