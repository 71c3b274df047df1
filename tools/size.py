"""How large the house is: `python -m tools.size` counts files and lines of code by room.

Lines of code have no blank lines, comments or docstrings. Catalogues of translated texts
(`words-*.js`) are counted by themselves.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "freewill"
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_WITH_DOCSTRINGS = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_WEB = {".js", ".css", ".html"}


def main() -> None:
    """Print a table with a row a room, and the sums."""
    files, lines = defaultdict[str, int](int), defaultdict[str, int](int)
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix == ".py":
            parts = path.relative_to(PACKAGE).parts
            room, many = parts[0] if len(parts) > 1 else "the root", python_lines(path.read_text())
        elif path.suffix in _WEB:
            room = "web: catalogues" if path.name.startswith("words-") else "web"
            many = web_lines(path.read_text(), path.suffix)
        else:
            continue
        for group in (room, "all of " + ("the web" if path.suffix in _WEB else "Python")):
            files[group] += 1
            lines[group] += many
    print("| room | files | lines of code |\n| --- | --- | --- |")
    for room in sorted(lines, key=lambda name: (name.startswith("all"), name)):
        print(f"| {room} | {files[room]} | {lines[room]:,} |")


def python_lines(text: str) -> int:
    r"""Count lines that hold code.

    >>> python_lines("'A docstring.'\n\n# Comment\nx = [\n    1,\n]\n")
    3
    """
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _WITH_DOCSTRINGS) and ast.get_docstring(node, clean=False) is not None:
            code.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(code)


def web_lines(text: str, suffix: str) -> int:
    r"""Count lines that are neither blank nor comments alone.

    >>> web_lines("/** A comment. */\n\nlet x = 1; // and so\n", ".js")
    1
    """
    comment = r"<!--.*?-->" if suffix == ".html" else r"^\s*/\*.*?\*/\s*$|^\s*//[^\n]*$"
    left = re.sub(comment, "", text, flags=re.DOTALL | re.MULTILINE)
    return sum(1 for line in left.splitlines() if line.strip())


if __name__ == "__main__":
    main()
