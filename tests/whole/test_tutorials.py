"""Every tutorial runs as it stands, ends with a picture that is described, and is in the menu."""

import ast
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import freewill as fw
from service_cases import needs_serve

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "tutorials").glob("*.md"))
CELL = re.compile(
    r"^```\{code-cell\} python\n(---\n.*?\n---\n)?(.*?)^```$", re.DOTALL | re.MULTILINE
)
# By `pip install '.[plot,serve]'`, as the first tutorial says, and by a notebook.
INSTALLED = {"freewill", "numpy", "matplotlib", "duckdb", "pyarrow", "IPython"}
INSTALLED |= sys.stdlib_module_names
IMPORTS = ast.Import | ast.ImportFrom
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def cells(page):
    """Return the looks and the code of each cell."""
    return CELL.findall(page.read_text("utf-8"))


def test_every_tutorial_is_in_the_menu():
    menu = (DOCS / "index.md").read_text("utf-8")
    listed = re.findall(r"^tutorials/(\S+)$", menu, re.MULTILINE)
    assert sorted(listed) == [page.stem for page in PAGES]


@each_page
def test_a_page_is_a_notebook_to_download(page):
    text = page.read_text("utf-8")
    assert text.startswith("---\nfile_format: mystnb\n")
    assert f"<{page.stem}.ipynb>`" in text
    assert len(cells(page)) == text.count("{code-cell}") >= 6


@each_page
def test_lines_of_code_fit_the_page(page):
    assert max(len(line) for _, code in cells(page) for line in code.splitlines()) <= 90


@each_page
def test_it_imports_only_what_its_first_page_installs(page):
    code = "\n".join(code for _, code in cells(page) if not code.startswith("%%"))
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, IMPORTS)]
    names = {getattr(node, "module", None) or node.names[0].name for node in nodes}
    assert {name.partition(".")[0] for name in names} <= INSTALLED


def run_in_shell(code, folder):
    # Where the command is not installed, this Python has it.
    script = re.sub(r"^freewill ", f"{sys.executable} -m freewill ", code, flags=re.MULTILINE)
    command = ["sh", "-ec", script]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run_in_python(code, names):
    """Run a cell, and return the value of its last line, as a notebook does."""
    parsed = ast.parse(code)
    last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
    exec(compile(parsed, "cell", "exec"), names)
    return last and eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@pytest.mark.slow
@each_page
def test_a_page_runs_and_describes_its_pictures(page, tmp_path, monkeypatch):
    pytest.importorskip("IPython")
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    # A class is described by the module that it stands in.
    names = {"__name__": "__main__"}
    drawn = []
    for looks, code in cells(page):
        kind, _, rest = code.partition("\n")
        if kind == "%%sh":
            run_in_shell(rest, tmp_path)
        elif kind.startswith("%%writefile "):
            Path(kind.split()[1]).write_text(rest, "utf-8")
        else:
            shown = run_in_python(code, names)
            is_picture = hasattr(shown, "savefig") or hasattr(shown, "_repr_svg_")
            drawn.append(is_picture or "plt.subplots" in code)
            assert drawn[-1] == bool(re.search(r"^    alt: \S", looks, re.MULTILINE)), code
    assert drawn[-1]


@pytest.mark.slow
def test_a_csv_of_ones_own_is_estimated_by_one_page(tmp_path):
    pytest.importorskip("matplotlib")
    page = (DOCS / "how-to" / "estimate-from-files.md").read_text("utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    (tmp_path / "yours.csv").write_text("person,answer\n1,yes\n2,no\n3,no\n" * 100, "utf-8")
    (_, init), (_, example), (language, rename), (_, estimate) = blocks[:4]
    run_in_shell(init, tmp_path)
    assert language == "python"
    subprocess.run([sys.executable, "-c", rename], cwd=tmp_path, check=True)
    run_in_shell(estimate, tmp_path)
    assert (tmp_path / "reports.csv").read_text("utf-8").startswith(example)
    assert (tmp_path / "shares.png").stat().st_size > 5_000


@pytest.mark.slow
@needs_serve
def test_the_first_survey_is_served_and_estimated(tmp_path):
    page = DOCS / "tutorials" / "first-survey.md"
    commands = re.findall(r"^\$ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["serve", "estimate"]
    run_in_shell(cells(page)[0][1].partition("\n")[2], tmp_path)
    serve = [sys.executable, "-m", *commands[0].split(), "--port", "0"]
    with subprocess.Popen(serve, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            host = re.search(r"http://[^/\s]+", server.stdout.readline())[0]
            survey = fw.Survey.load(tmp_path / "commute.json")
            answer(f"{host}/v1/surveys/{survey.id}/reports", survey)
        finally:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=60)
    run_in_shell(commands[1], tmp_path)


def answer(address, survey):
    """Let some people's devices send a report each."""
    for number in range(40):
        choice = ("careful", "relaxed")[number % 2]
        message = fw.Device(survey).message(("car", "bus")[number % 3 == 0], choice)
        headers = {"content-type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(address, message, headers))
