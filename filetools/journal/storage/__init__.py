"""The database and the files beside it: opened, locked, written, checked, begun anew."""
