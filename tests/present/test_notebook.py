"""The library in a Jupyter notebook, with and without ipywidgets."""

import importlib.util
import json
import sys

import pytest

NEEDED = ("ipykernel", "ipywidgets", "nbclient")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)} not installed: make notebook"),
]
READING = """
import freewill as fw, numpy as np
ages = fw.Linear(0, 99)
survey = fw.Survey(ages, {"careful": fw.KRR(ages, 3.0), "bits": fw.RAPPOR(ages, 2.0)})
rng = np.random.default_rng(0)
parts = [(name, survey.find(name).obfuscate([40] * 500, rng)) for name in survey.mechanisms]
fw.write_reports("reports.parquet", parts, survey=survey)
shares = []
evidence = fw.read_reports("reports.parquet", survey, show=shares.append)
"""
SHOWING = "print(evidence.people, shares[-1]); fw.gibu(evidence)"


def executed(folder, *sources):
    """Run cells in a kernel of this Python, in a folder; return what each put out."""
    from nbclient import NotebookClient  # noqa: PLC0415
    from nbformat.v4 import new_code_cell, new_notebook  # noqa: PLC0415

    kernels = folder / "kernels" / "here"
    kernels.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "here", "language": "python"}
    (kernels / "kernel.json").write_text(json.dumps(spec))
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        place = {"metadata": {"path": str(folder)}}
        NotebookClient(notebook, timeout=600, kernel_name="here", resources=place).execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("widgets", [True, False], ids=["with ipywidgets", "without ipywidgets"])
def test_reports_are_read_and_an_estimate_is_shown(tmp_path, widgets):
    before = "" if widgets else "import sys; sys.modules['ipywidgets'] = None"
    *quiet, (printed, shown) = executed(tmp_path, before, READING, SHOWING)
    assert quiet == [[], []]
    assert printed["text"] == "1000 1.0\n"
    assert "<table" in shown["data"]["text/html"]
