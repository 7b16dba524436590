"""The interactive page: one HTML file that shows a fitted model and its samples.

It consists of a template, a style sheet and small scripts, and of Python code that samples and
packs. Python decides what is shown, and in which colours (they come with the data, and as variables
of the style sheet); the scripts only draw. The page's Content-Security-Policy allows its scripts by
their hashes, so there are no handlers in attributes. Text from data goes through the template,
``textContent``, or ``plain()`` where plotly would interpret markup.
"""

from gtpca.page.writer import write_page

__all__ = ["write_page"]
