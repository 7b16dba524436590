"""How large the library is, and how far its layers keep to themselves.

Counts, in a checkout:

- public methods and properties of `Operator`;
- places outside operators/ that ask whether there are gaps, and those that ask whether an operator
  is isometric or selects: lines of code, without comments and docstrings;
- lines of code of src/gtpca, without comments, docstrings and blanks.

Run: python benchmarks/count_code.py [FOLDER ..]     folders of checkouts; this one by default
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GAPS = r"hidden is (not )?None|has_gaps|moments\.lack\b|ndim\(\S*hidden\)|np\.any\(\S*hidden\)"
KINDS = r"\.(isometric|selects|_alike)\b"


def main(folders):
    for folder in folders or [ROOT]:
        print(folder)
        for what, number in counts(Path(folder, "src", "gtpca")).items():
            print(f"  {number:6d}  {what}")


def counts(source):
    """What is counted, by name."""
    lines = {file: code_lines(file) for file in sorted(source.rglob("*.py"))}
    apart = [line for file, each in lines.items() if not inside(file, source) for line in each]
    papers = sum(len(each) for file, each in lines.items() if "experiments" in file.parts)
    total = sum(map(len, lines.values()))
    return {
        "public methods and properties of Operator": len(public_methods(source)),
        "places outside operators/ that ask for gaps": matches(GAPS, apart),
        "places outside operators/ that ask for isometric or selects": matches(KINDS, apart),
        "lines of code": total,
        "lines of code without experiments/": total - papers,
    }


def inside(file, source):
    """Whether a file is one of operators/."""
    return file.relative_to(source).parts[0] == "operators"


def public_methods(source):
    """Names of the public methods and properties that `Operator` defines."""
    tree = ast.parse((source / "operators" / "base.py").read_text("utf-8"))
    (operator,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Operator")
    names = [n.name for n in operator.body if isinstance(n, ast.FunctionDef)]
    return [name for name in names if not name.startswith("_")]


def matches(pattern, lines):
    """How many lines match."""
    return sum(bool(re.search(pattern, line)) for line in lines)


def code_lines(file):
    """Lines that hold code: neither blank, nor a comment, nor of a docstring."""
    text = file.read_text("utf-8")
    lines, told = text.splitlines(), docstring_lines(ast.parse(text))
    kept = set()
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*silent, tokenize.ENDMARKER):
            kept |= set(range(token.start[0], token.end[0] + 1))
    return [lines[number - 1].partition("  #")[0] for number in sorted(kept - told)]


def docstring_lines(tree):
    """Numbers of the lines of all docstrings."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            found |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
