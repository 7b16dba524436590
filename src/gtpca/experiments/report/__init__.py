"""The report of the experiments: tables beside the published numbers, figures, one page."""

from gtpca.experiments.report.writer import read_remarks, write_report

__all__ = ["read_remarks", "write_report"]
