"""The front door: what a device needs loads with NumPy alone, and users find what they need."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import freewill as fw

DEVICE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {heavy}:
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
import freewill as fw, numpy as np
rng, line, city = np.random.default_rng(0), fw.Linear(0, 9), fw.Grid(3, 3, cell=1.0)
mechanisms = [
    fw.KRR(line, 1.0), fw.RAPPOR(line, 1.0), fw.Geometric(line, 0.5), fw.Identity(line),
    fw.Matrix(line, np.eye(10)), fw.PlanarGeometric(city, 1.0),
]
for mechanism in mechanisms:
    assert len(mechanism.obfuscate([1, 2], rng)) == 2
    assert fw.from_spec(mechanism.spec()) == mechanism
    mechanism.guarantee(), mechanism.id, mechanism.output_space
fw.Shokri(line, quality_loss=2.0).spec()
survey = fw.Survey(line, {{"mine": mechanisms[0]}})
assert fw.Survey.from_spec(survey.spec()) == survey
for mechanism in mechanisms[:5]:
    device = fw.Device(mechanism, fw.Memory(), fw.Budget(float("inf")), "what-is-it")
    assert device.row(3) == device.row(4)
assert fw.Categorical(["a", "b"]).encode(["b"]) == [1]
print("fine")
"""
HEAVY = {
    "scipy",
    "pyarrow",
    "duckdb",
    "narwhals",
    "pandas",
    "polars",
    "rich",
    "typer",
    "matplotlib",
}


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_device_gets_by_with_numpy():
    assert run(DEVICE.format(heavy=HEAVY)) == "fine"


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, freewill; print(sorted({name.split('.')[0] for name in sys.modules}))"
    assert not set(ast.literal_eval(run(code))) & (HEAVY | {"numpy"})


def test_users_find_what_they_need_and_nothing_else():
    assert set(dir(fw)) == set(fw.__all__)
    for name in dir(fw):
        assert getattr(fw, name) is not None
    errors = {name for name, kind in vars(fw.errors).items() if isinstance(kind, type)}
    assert errors - {"BaseException"} <= set(dir(fw))
    needed = "plots load_evidence save_evidence write_reports read_reports merge spark_session"
    assert set(needed.split()) <= set(dir(fw))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fw.nothing  # noqa: B018


def test_type_checkers_are_told_the_same_names():
    stub = ast.parse(Path(fw.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    told = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(told) == set(dir(fw)) - {"__version__"}
    for name, place in told.items():
        module, _, last = place.rpartition(".")
        assert getattr(fw, name) is getattr(sys.modules[module], last)
