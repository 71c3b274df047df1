"""How `make docs` builds the site: Markdown pages, and the reference from docstrings."""

import os
import re
import sys
from functools import partialmethod
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from nbclient import NotebookClient

import freewill

project = "Freewill"
author = "the Freewill authors"
release = version = freewill.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc"]

# Tutorials and the gallery run while the site is built, once for each text of theirs.
nb_execution_mode = "cache"
nb_execution_cache_path = "site/.cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
nb_execution_in_temp = True
nb_merge_streams = True

# Cells of a shell find the command beside this Python, which prints as into a file.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ["TTY_COMPATIBLE"] = "0"
# What a command prints comes in pieces of 100 bytes, which MyST-NB would write as lines.
NotebookClient.__init__ = partialmethod(NotebookClient.__init__, coalesce_streams=True)

# From the root of the repository: pages link to measurements, and to what every project has.
root_doc = "docs/index"
# The README is the repository's front page; docs/index.md is the site's.
exclude_patterns = ["README.md", "docs/landing/*"]
include_patterns = ["docs/**", "benchmarks/results/*", "*.md", "src/freewill/device/js/README.md"]

html_theme = "furo"
html_title = f"Freewill {release}"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_copyright = False
html_domain_indices = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("reach.js", {"defer": "defer"})]
html_extra_path = ["landing"]

myst_heading_anchors = 4
# Formulas become MathML, which browsers draw by themselves.
myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_space = False
html_math_renderer = "mathml"
default_role = "code"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
add_module_names = False

_CODE = re.compile("`[^`]*`|[^`]+")


def as_written(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Show a docstring as it is written: prose, code in backticks, indented formulas, examples."""
    shown: list[str] = []
    example = formula = False
    for line, before in zip(lines, ["", *lines], strict=False):
        example = line.startswith(">>>") or (example and bool(line.strip()))
        starts = line.startswith("    ") and not before.strip() and not example
        if starts and not formula:
            shown += ["::", ""]
        formula = starts or (formula and (line.startswith("    ") or not line.strip()))
        shown.append(line if example or formula else _CODE.sub(_escaped, line))
    lines[:] = shown


def _escaped(part: re.Match[str]) -> str:
    """Return prose without marks that would mean something, and code as it is."""
    return part[0] if part[0].startswith("`") else re.sub(r"([|*\\]|_(?!\w))", r"\\\1", part[0])


def names_of_reference(app: Any, page: str, source: list[str]) -> None:
    """List all public names where the reference begins, two clicks from the first page."""
    if page != "docs/reference/index":
        return
    rows = ["| page | names |", "| --- | --- |"]
    for name in re.findall(r"^\w+$", source[0], re.MULTILINE):
        text = Path(app.srcdir, "docs", "reference", f"{name}.md").read_text("utf-8")
        found = re.findall(r"^\.\. auto\w+:: ((?:freewill\.)?([\w.]+))$", text, re.MULTILINE)
        links = ", ".join(f"{{py:obj}}`{short} <{full}>`" for full, short in found)
        title = text.removeprefix("# ").splitlines()[0]
        rows.append(f"| [{title}]({name}.md) | {links} |")
    source[0] = source[0].replace("<!-- names -->", "\n".join(rows))


def without_empty_heads(app: Any, page: Any, name: str) -> None:
    """Leave out the head of a table whose columns have no names: Markdown cannot write none."""
    for head in list(page.findall(nodes.thead)):
        if not head.astext().strip():
            head.parent.remove(head)


def style_cells_where_they_are(
    app: Any, name: str, template: str, context: dict[str, Any], page: Any
) -> None:
    """Spare pages without cells of a notebook the 43 kB that style these."""
    boxes = page.findall(nodes.container) if page else ()
    if not any("cell" in box["classes"] for box in boxes):
        files = context["css_files"]
        context["css_files"] = [one for one in files if "mystnb" not in str(one.filename)]


def formula_in_text(page: Any, node: nodes.math) -> None:
    """Write a formula in a line of text as MathML."""
    page.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def formula(page: Any, node: nodes.math_block) -> None:
    """Write a formula that stands by itself as MathML; it may be scrolled where it is wide."""
    page.body.append(f'<div class="formula">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def without_empty_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: Any
) -> tuple[str | None, Any] | None:
    """Leave out the signature of protocols, which nobody calls: `(*args, **kwargs)`."""
    return ("", returned) if signature == "(*args, **kwargs)" else None


def setup(app: Any) -> None:
    """Take part in the building."""
    app.add_html_math_renderer("mathml", (formula_in_text, None), (formula, None))
    app.connect("source-read", names_of_reference)
    app.connect("html-page-context", style_cells_where_they_are)
    app.connect("doctree-resolved", without_empty_heads)
    app.connect("autodoc-process-docstring", as_written)
    app.connect("autodoc-process-signature", without_empty_signature)
