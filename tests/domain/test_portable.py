"""What is saved can be read again as it was: whatever cannot is refused before it is written."""

import sqlite3
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import freewill as fw
from freewill.collector.store import open_store
from freewill.domain import survey as surveys
from freewill.domain.mechanisms.registry import portable_alphabet, portable_spec
from freewill.io import evidence_file

LINE = fw.Linear(0, 4)


class Blunt(fw.KRR):
    """Of the same kind, with half of the reports 0 whatever the value."""

    def obfuscate(self, values, rng=None):
        return 0 * super().obfuscate(values, rng)


class Given(fw.Matrix):
    """Equal to a matrix, for matrices compare what they are derived from."""


class Solved(fw.Shokri):
    """The same of another."""


@dataclass(frozen=True)
class Scaled(fw.KRR):
    """A parameter more, which the description keeps to itself."""

    scale: float = 1.0

    def parameters(self):
        return {"epsilon": self.epsilon}


@dataclass(frozen=True)
class Own(fw.Exponential):
    """A kind that nobody has registered."""

    name: ClassVar[str] = "own"


@dataclass(frozen=True)
class Impostor(fw.Exponential):
    """Another law under the name of ours."""

    name: ClassVar[str] = "k-rr"


class Ring(fw.Linear):
    """A line whose ends are neighbours."""

    def distance(self, first, second):
        apart = super().distance(first, second)
        return np.minimum(apart, self.size - apart)


RING = Ring(0, 4)
OWN = {
    "own class": Own(LINE, 1.0),
    "derived": Blunt(LINE, 1.0),
    "derived matrix": Given(LINE, np.eye(5)),
    "derived shokri": Solved(LINE, 1.0),
    "a parameter less": Scaled(LINE, 1.0, 2.0),
    "a borrowed name": Impostor(LINE, 1.0),
    "own alphabet": fw.KRR(RING, 1.0),
    "own outputs": fw.Matrix(LINE, np.eye(5), RING),
}


@pytest.mark.parametrize("name", OWN)
def test_what_would_not_come_back_is_refused_by_every_writer(name, tmp_path):
    own = OWN[name]
    survey = fw.Survey(own.alphabet, {"mine": own, "plain": fw.KRR(own.alphabet, 2.0)})
    evidence = fw.collect([(own, [1, 2, 3]), (fw.KRR(own.alphabet, 2.0), [3])])
    what = "alphabet 0..4" if name == "own alphabet" else f"of the class {type(own).__name__},"
    for write in (
        lambda: survey.save(tmp_path / "s.json"),
        survey.spec,
        survey.for_devices,
        lambda: survey.id,
        lambda: survey.canonical,
    ):
        with pytest.raises(fw.SurveyError, match=f"{what}.* cannot be saved: .*Nothing was"):
            write()
    with pytest.raises(fw.EvidenceError, match=f"{what}.* cannot be saved: .*Nothing was"):
        fw.save_evidence(evidence, tmp_path / "e.parquet")
    store = open_store(str(tmp_path / "c.db"))
    with pytest.raises(fw.SurveyError, match="cannot be saved"):
        store.add(survey)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["c.db"]
    connection = sqlite3.connect(tmp_path / "c.db")
    assert connection.execute("SELECT count(*) FROM surveys").fetchone() == (0,)
    connection.close()
    with pytest.raises(fw.SpecError, match="cannot be saved"):
        portable_spec(own)


def test_the_refusal_says_what_to_save_instead(tmp_path):
    own = OWN["own class"]
    with pytest.raises(fw.SpecError, match=r"save its law, as fw\.Matrix\(m\.alphabet, m\.law\("):
        portable_spec(own)
    instead = fw.Matrix(own.alphabet, own.law())
    fw.Survey(LINE, {"mine": instead}).save(tmp_path / "s.json")
    assert np.array_equal(fw.Survey.load(tmp_path / "s.json").find("mine").law(), own.law())


def test_what_needs_no_file_of_its_own_works_with_own_mechanisms(tmp_path):
    """A file of reports names the mechanism, and whoever reads it has it; so has a device."""
    own = OWN["own class"]
    survey = fw.Survey(LINE, {"mine": own}, question="How many?")
    reports = own.obfuscate([0, 1, 2, 3], np.random.default_rng(0))
    fw.write_reports(tmp_path / "r.csv", [("mine", reports)], survey=survey)
    assert fw.read_reports(tmp_path / "r.csv", survey) == fw.collect([(own, reports)])
    sent = fw.Device(survey, fw.Memory(tmp_path / "m")).row(3, "mine")
    assert fw.Device(survey, fw.Memory(tmp_path / "m")).row(3, "mine") == sent


@pytest.mark.parametrize(
    "mechanism",
    [
        fw.KRR(fw.Categorical(["a", "b, c"]), 1),
        fw.Geometric(fw.Linear(-3, 9, 3, "year"), 0.1),
        fw.PlanarGeometric(fw.Grid.box(1.1, 1.2, -0.3, 0.1, 3, 2), 0.7),
        fw.RAPPOR(LINE, np.float64(1.5)),
        fw.Shokri(LINE, 1, prior=[0.1, 0.2, 0.3, 0.4, 0.0]),
        fw.Matrix(LINE, np.full((5, 3), 1 / 3)),
        fw.Identity(fw.Grid(2, 2, cell=0.1)),
    ],
)
def test_all_that_is_ours_comes_back(mechanism, tmp_path):
    assert fw.from_spec(portable_spec(mechanism)) == mechanism
    assert portable_alphabet(mechanism.alphabet) == mechanism.alphabet.spec()
    evidence = fw.collect([(mechanism, mechanism.obfuscate([0, 1], np.random.default_rng(0)))])
    fw.save_evidence(evidence, tmp_path / "e.parquet")
    assert fw.load_evidence(tmp_path / "e.parquet") == evidence


def test_files_too_large_to_be_read_again_are_not_written(tmp_path, monkeypatch):
    vast = fw.Linear(0, 1 << 25)
    with pytest.raises(fw.EvidenceError, match="MiB are taken"):
        fw.save_evidence(fw.collect([(fw.KRR(vast, 1.0), [3])]), tmp_path / "e.parquet")
    table = fw.Matrix(fw.Linear(0, 29), np.full((30, 30), 1 / 30))
    monkeypatch.setattr(surveys, "SURVEY_FILE_BYTES", 9000)
    monkeypatch.setattr(evidence_file, "_HEAD_BYTES", 9000)
    with pytest.raises(fw.SurveyError, match="nothing could read it"):
        fw.Survey(table.alphabet, {"table": table}).save(tmp_path / "s.json")
    with pytest.raises(fw.EvidenceError, match="nothing could read it"):
        fw.save_evidence(fw.collect([(table, [3])]), tmp_path / "e.parquet")
    assert not list(tmp_path.iterdir())
