"""Rows, wherever they live, in chunks that a solver can go through again and again."""
