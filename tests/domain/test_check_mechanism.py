"""`fw.check_mechanism`: what is right passes, and each mistake is told where it is made."""

from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from contract import ENTRIES, ThreeQuarters, variants
from foreign import FOREIGN, ForeignHashing, ForeignUnary, SeedAndBucket
from freewill.domain.draws.sources import GeneratorBytes
from freewill.numeric.operators.base import DenseOperator
from freewill.numeric.operators.moments import BitMoments

WIDE, NARROW = fw.Linear(0, 24), fw.Linear(0, 7)


@pytest.fixture(autouse=True)
def _registered():
    for kind in (*FOREIGN, ThreeQuarters):
        fw.register(kind)


@pytest.mark.slow
@pytest.mark.parametrize("entry", [one for one in ENTRIES if one.name not in variants()], ids=str)
def test_every_kind_of_the_contract_passes(entry):
    found = fw.check_mechanism(entry.build(6, 3.0))
    assert found.passed, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ForeignUnary, ForeignHashing])
@pytest.mark.parametrize("epsilon", [0.01, 2.0, 9.0])
def test_mechanisms_of_somebody_else_pass(kind, epsilon):
    given = (8,) if kind is ForeignHashing else ()
    for line in (WIDE, fw.Linear(0, 1)):
        found = fw.check_mechanism(kind(line, epsilon, *given), np.random.default_rng(3))
        assert found.passed, str(found)


class Unnormalised(ForeignUnary):
    def operator(self, outputs):
        whole = super().operator(outputs)
        return replace(whole, log_factor=whole.log_factor + 0.1)


class Negative(ForeignUnary):
    def operator(self, outputs):
        rows = super().operator(outputs).dense()
        return DenseOperator(rows - 0.5)


class Crooked(ForeignUnary):
    def operator(self, outputs):
        right = super().operator(outputs)

        class Wrong(type(right)):
            def adjoint(self, weights):
                return 2 * right.adjoint(weights)

        return Wrong(*vars(right).values())


class Noisier(ForeignHashing):
    def _reports(self, truth, rng):
        return ForeignHashing(self.alphabet, self.epsilon / 2, self.buckets)._reports(truth, rng)


class Shifted(ForeignUnary):
    def _report(self, value, source):
        return super()._report((value + 1) % self.alphabet.size, source)


class Impossible(fw.Matrix):
    def obfuscate(self, values, rng=None):
        return np.ones_like(values)


class Boastful(ForeignHashing):
    def guarantee(self):
        return fw.Guarantee("ldp", self.epsilon / 2)


class BlindWitness(ForeignUnary):
    def witnesses(self):
        return np.zeros((1, 1), dtype=np.uint8)

    def guarantee(self):
        return fw.Guarantee("ldp", self.epsilon / 2)


class Mute(SeedAndBucket):
    def texts(self, reports):
        return super().texts(reports[:, ::-1])


class Unread(ForeignHashing):
    output_space = property(lambda self: Mute(self.buckets))


class Exaggerated(ForeignUnary):
    def moments(self, theta):
        chance = 1 / (np.exp(self.epsilon) + 1)
        return BitMoments(theta, chance, 2 * float(np.expm1(self.epsilon)))


class Programmed(ForeignUnary):
    def program(self):
        return {"draw": "unary", "own": {1}}


class Wordless(ForeignUnary):
    def program(self):
        return {"own": 3}


class Raising(ForeignUnary):
    def guarantee(self):
        raise KeyError("of somebody else")


class Short(ForeignUnary):
    def _reports(self, truth, rng):
        return super()._reports(truth, rng)[1:]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "what", "text"),
    [
        (Unnormalised(NARROW, 2.0), "law", "sum to 1.10517092, not to 1"),
        (Negative(NARROW, 2.0), "law", "a probability of -"),
        (Crooked(WIDE, 2.0), "operator", "forward and adjoint disagree"),
        (Noisier(WIDE, 2.0, 8), "obfuscate", "speak of two laws"),
        (Short(WIDE, 2.0), "obfuscate", "expected one each"),
        (Shifted(WIDE, 2.0), "draw", "speak of two laws"),
        (Shifted(NARROW, 2.0), "draw", "speak of two laws"),
        (Impossible(fw.Linear(0, 1), np.eye(2)), "obfuscate", "impossible for its value"),
        (Boastful(WIDE, 2.0, 8), "guarantee", "by epsilon 2, and 1 is promised"),
        (BlindWitness(NARROW, 2.0), "guarantee", "by epsilon 2, and 1 is promised"),
        (Raising(WIDE, 2.0), "guarantee", "KeyError: 'of somebody else'"),
        (Unread(WIDE, 2.0, 8), "reports", "`encode`, `texts` and `decode` of Mute must agree"),
        (Exaggerated(WIDE, 2.0), "moments", "says that a report tells"),
        (Programmed(WIDE, 2.0), "program", "TypeError: Object of type set"),
        (Wordless(WIDE, 2.0), "program", 'expected {"draw": ...}'),
        (Unnormalised(WIDE, 2.0), "description", "cannot be saved"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_a_mistake_is_told_where_it_is_made(mechanism, what, text):
    found = fw.check_mechanism(mechanism)
    assert not found.passed
    assert "does NOT keep its contract" in str(found)
    (finding,) = [one for one in found.findings if one.what == what]
    assert finding.passed is False, str(found)
    assert text in finding.text


def test_what_cannot_be_tried_is_said():
    class Inexact(ForeignUnary):
        _report = fw.Mechanism._report

    found = {one.what: one for one in fw.check_mechanism(Inexact(WIDE, 2.0)).findings}
    assert found["draw"].passed is None
    assert "must have draw or _report" in found["draw"].text
    assert found["law"].passed is None
    assert found["moments"].passed is None
    assert "proves nothing of the others" in found["guarantee"].text


@pytest.mark.parametrize("given", [None, 3, fw.KRR, "k-rr"])
def test_what_is_no_mechanism_is_refused(given):
    with pytest.raises(fw.ParameterError, match="expected a mechanism"):
        fw.check_mechanism(given)


def test_what_is_no_generator_is_refused():
    with pytest.raises(fw.ParameterError, match="default_rng"):
        fw.check_mechanism(fw.KRR(NARROW, 1.0), GeneratorBytes(np.random.default_rng(0)))
