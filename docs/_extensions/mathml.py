"""Formulas as MathML: drawn by every browser itself, so that no script has to be loaded."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

UNKNOWN = {r"\Big": "", r"\dots": r"\ldots"}


def mathml(text: str, *, block: bool) -> str:
    """``text`` in the notation of LaTeX as an element ``math``."""
    for name, known in UNKNOWN.items():
        text = text.replace(name, known)
    return tex2mathml(text, as_block=block)


def visit_inline(writer, node) -> None:
    writer.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def visit_block(writer, node) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app) -> dict:
    """Called by Sphinx."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
