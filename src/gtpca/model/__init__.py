"""Matches of components with rows, codes, and the fitted model as a value."""
