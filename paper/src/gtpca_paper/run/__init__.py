"""Runs of the experiments: jobs, measures, rows on disk, and the command behind it all."""
