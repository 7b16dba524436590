"""Rows, wherever they are stored, in chunks that a solver can iterate over repeatedly."""
