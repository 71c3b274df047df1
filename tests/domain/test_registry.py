"""The registry: classes that are registered, packages that bring them, and what is refused."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import freewill as fw
from foreign import ForeignHashing, ForeignUnary, foreign_mechanisms
from freewill.domain.mechanisms import registry

LINE = fw.Linear(0, 24)


def survey():
    unary, hashed = foreign_mechanisms(LINE)
    return fw.Survey(LINE, {"bits": unary, "hashed": hashed, "plain": fw.KRR(LINE, 1.0)})


def test_a_registered_mechanism_is_saved_and_loaded(tmp_path):
    assert fw.register(ForeignUnary) is ForeignUnary
    fw.register(ForeignHashing)
    fw.register(ForeignHashing)
    assert {"foreign-unary", "foreign-hashing", "k-rr"} <= set(registry.kinds())
    offered = survey()
    offered.save(tmp_path / "s.json")
    assert fw.Survey.load(tmp_path / "s.json") == offered
    rng = np.random.default_rng(0)
    parts = [(m, m.obfuscate(rng.integers(25, size=50), rng)) for m in offered.mechanisms.values()]
    evidence = fw.collect(parts)
    fw.save_evidence(evidence, tmp_path / "e.parquet")
    assert fw.load_evidence(tmp_path / "e.parquet") == evidence
    for mechanism in offered.mechanisms.values():
        assert fw.from_spec(json.loads(json.dumps(mechanism.spec()))) == mechanism
    with pytest.raises(fw.SpecError, match="needs the field 'buckets'"):
        fw.from_spec({**foreign_mechanisms(LINE)[0].spec(), "mechanism": "foreign-hashing"})


def test_what_could_not_be_loaded_again_is_refused_when_it_is_saved(tmp_path):
    offered = survey()
    unary = offered.mechanisms["bits"]
    evidence = fw.collect([(unary, unary.obfuscate([1, 2], np.random.default_rng(0)))])
    for save in (
        lambda: offered.save(tmp_path / "s.json"),
        offered.spec,
        offered.for_devices,
        lambda: fw.save_evidence(evidence, tmp_path / "e.parquet"),
    ):
        with pytest.raises(fw.FreewillError, match="cannot be saved") as raised:
            save()
        assert "fw.register adds a class of your own" in str(raised.value)
    assert not any(tmp_path.iterdir())
    with pytest.raises(fw.SpecError, match=r"expected one of .*k-rr"):
        fw.from_spec(unary.spec())
    fw.register(ForeignUnary)
    with pytest.raises(fw.SpecError, match=r"expected one of .*foreign-unary"):
        fw.from_spec({"mechanism": "foreign-unari"})


def test_two_kinds_of_one_name_are_an_error_that_names_both():
    fw.register(ForeignUnary)

    class Other(ForeignUnary):
        pass

    with pytest.raises(fw.ParameterError) as raised:
        fw.register(Other)
    assert "foreign.ForeignUnary" in str(raised.value)
    assert f"{__name__}.test_two" in str(raised.value)
    with pytest.raises(fw.ParameterError, match=r"randomised_response\.KRR and .*Mine"):
        fw.register(type("Mine", (fw.KRR,), {}))
    again = type("ForeignUnary", (ForeignUnary,), {"__module__": ForeignUnary.__module__})
    assert fw.register(again) is again  # as a notebook defines a class anew
    assert registry.REGISTRY["foreign-unary"] is again


@dataclass(frozen=True)
class Bare(fw.Mechanism):
    alphabet: Any


def method(self, *given):
    return None


WHOLE = {"name": "bare", "obfuscate": method, "operator": method, "guarantee": method}


@pytest.mark.parametrize("missing", WHOLE)
def test_what_a_class_lacks_is_named(missing):
    rest = {key: value for key, value in WHOLE.items() if key != missing}
    with pytest.raises(fw.ParameterError, match=rf"Bare\b.* has no {missing}\b"):
        fw.register(type("Bare", (Bare,), rest))
    fw.register(type("Bare", (Bare,), WHOLE))


@pytest.mark.parametrize("given", [fw.KRR(LINE, 1.0), "k-rr", None, int, make_dataclass("A", [])])
def test_what_is_no_class_of_mechanisms_is_refused(given):
    with pytest.raises(fw.ParameterError, match=r"expected a class derived from fw\.Mechanism"):
        fw.register(given)


def test_a_class_without_fields_must_describe_itself():
    class Plain(fw.Mechanism):
        name: ClassVar[str] = "plain-class"
        obfuscate = operator = guarantee = method

    with pytest.raises(fw.ParameterError, match="is no dataclass"):
        fw.register(Plain)
    Plain.parameters = lambda self: {}
    fw.register(Plain)


# Packages ----------------------------------------------------------------------------------------


def installed(folder: Path, points: dict[str, str], modules: dict[str, str]) -> dict[str, str]:
    """Lay out a package as an installer does, and return an environment that sees it."""
    info = folder / "noise_shop-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: noise-shop\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[freewill.mechanisms]", *lines, ""]))
    for name, content in modules.items():
        (folder / f"{name}.py").write_text(content)
    paths = [str(folder), str(Path(__file__).parent.parent), *sys.path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run(code: str, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, *(["-c", code] if code else ["-m", "freewill"]), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_package_brings_a_mechanism_when_its_name_is_asked_for(tmp_path):
    environment = installed(
        tmp_path / "site",
        {
            "foreign-unary": "noise_shop:ForeignUnary",
            "broken": "noise_broken:Broken",
            "misnamed": "noise_shop:ForeignUnary",
            "empty": "noise_shop:Empty",
        },
        {
            "noise_shop": "from foreign import ForeignUnary\nimport freewill as fw\n"
            'class Empty(fw.Mechanism):\n    name = "empty"\n',
            "noise_broken": 'raise RuntimeError("no licence for this machine")\n',
        },
    )
    fw.register(ForeignUnary)
    fw.Survey(LINE, {"bits": ForeignUnary(LINE, 2.0)}).save(tmp_path / "s.json")
    values = tmp_path / "values.csv"
    values.write_text("value\n" + "\n".join(str(n % 25) for n in range(300)) + "\n")
    done = run(
        "import sys, freewill as fw\n"
        "from freewill.domain.mechanisms import registry\n"
        "assert 'broken' in registry.kinds() and 'noise_shop' not in sys.modules\n"
        "fw.KRR(fw.Linear(0, 3), 1.0).spec()\n"
        f"survey = fw.Survey.load({str(tmp_path / 's.json')!r})\n"
        "assert type(survey.find('bits')).__name__ == 'ForeignUnary'\n"
        "assert 'noise_broken' not in sys.modules\n"
        "for name in ('broken', 'misnamed', 'empty', 'foreign-unari'):\n"
        "    try:\n"
        "        fw.from_spec({'mechanism': name, 'version': 1})\n"
        "    except fw.SpecError as error:\n"
        "        print(error)\n",
        environment,
    )
    assert not done.stderr, done.stderr
    broken, misnamed, empty, unknown = done.stdout.splitlines()
    assert "noise_broken:Broken (package noise-shop), which cannot be imported" in broken
    assert "RuntimeError: no licence for this machine" in broken
    assert "whose name is 'foreign-unary': both must be the same" in misnamed
    assert "has no obfuscate (or _reports)" in empty
    assert "Did you mean 'foreign-unary'?" in unknown
    out = tmp_path / "r.csv"
    options = ["-c", "value", "-s", str(tmp_path / "s.json"), "-o", str(out), "--seed", "1"]
    said = run("", environment, "obfuscate", str(values), *options)
    assert said.returncode == 0, said.stderr + said.stdout
    said = run("", environment, "estimate", str(out), "-s", str(tmp_path / "s.json"), "--intervals")
    assert said.returncode == 0, said.stderr + said.stdout
    assert "standard errors are known to about" in " ".join(said.stderr.split())
    told = run("", {**environment, "COLUMNS": "400"}, "calibrate", "--help")
    assert "foreign-unary" in told.stdout


def test_two_packages_of_one_name_are_an_error(tmp_path):
    environment = installed(tmp_path / "one", {"twice": "a:A"}, {})
    info = tmp_path / "two" / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[freewill.mechanisms]\ntwice = b:B\n")
    environment["PYTHONPATH"] += os.pathsep + str(tmp_path / "two")
    done = run("import freewill as fw; fw.from_spec({'mechanism': 'twice'})", environment)
    assert "a:A (package noise-shop) and b:B (package other)" in done.stderr


def test_parameters_of_any_kind_are_shown_and_others_than_json_takes_are_named():
    @fw.register
    @dataclass(frozen=True)
    class Worded(ForeignUnary):
        words: Any = "aloud"
        name: ClassVar[str] = "worded"

    assert str(Worded(LINE, 1.0)) == "worded(0..24, epsilon=1, words='aloud')"
    assert fw.from_spec(Worded(LINE, 1.0).spec()) == Worded(LINE, 1.0)
    with pytest.raises(fw.LawError, match=r"parameters of worded cannot be written \(.*set"):
        _ = Worded(LINE, 1.0, {1}).id


def test_whatever_someone_elses_class_raises_is_a_fault_of_the_description():
    @fw.register
    @dataclass(frozen=True)
    class Strict(ForeignUnary):
        name: ClassVar[str] = "strict"

        def __post_init__(self):
            self.epsilon / 0

    with pytest.raises(fw.SpecError, match=r"strict: .*division by zero"):
        fw.from_spec({**ForeignUnary(LINE, 1.0).spec(), "mechanism": "strict"})


def test_the_tutorial_shows_the_file_that_is_tested():
    docs = Path(__file__).parent.parent.parent / "docs"
    code = (docs / "three_quarters.py").read_text(encoding="utf-8").split('"""\n', 1)[1].lstrip()
    assert f"```python\n{code}```" in (docs / "new-mechanism.md").read_text(encoding="utf-8")
