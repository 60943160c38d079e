"""Stores: trees of files behind one interface."""
