"""The report of the experiments: tables beside the published numbers, figures, one page."""

from gtpca_paper.report.writer import read_remarks, write_report

__all__ = ["read_remarks", "write_report"]
