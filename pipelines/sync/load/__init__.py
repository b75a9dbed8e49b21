"""Rows and cursors of a source into the warehouse, a package at a time."""
