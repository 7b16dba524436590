"""The interactive page: one HTML file that shows a fitted model and what it says of samples."""

from gtpca.page.writer import write_page

__all__ = ["write_page"]
