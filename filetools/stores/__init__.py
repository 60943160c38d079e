"""Stores: trees of files behind one interface, on a local disk or in memory."""
