"""Lines of code per module, without docstrings, comments and blank lines. A report, not a limit."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = 25


def code_lines(path: Path) -> int:
    """Lines that hold code."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def main() -> None:
    """Print the totals of each package, and its largest modules."""
    for package in ("farhand", "farhand_lab"):
        sizes = {path: code_lines(path) for path in sorted((ROOT / package).rglob("*.py"))}
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sizes)
        print(f"{package}: {len(sizes)} files, {lines} lines, {sum(sizes.values())} of code")
        largest = sorted(sizes.items(), key=lambda item: -item[1])[:SHOWN]
        for path, size in largest:
            print(f"  {size:5d}  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
