"""Surveys of several questions, small enough for a law that is written out."""

import numpy as np

import freewill as fw

AGES, INCOMES = fw.Linear(18, 21), fw.Linear(0, 2)
MODES = fw.Categorical(["car", "bus", "bicycle"])
PEOPLE = fw.Product(age=AGES, commute=MODES)
NUMBERS = fw.Product(age=AGES, income=INCOMES)


def mechanisms(people):
    """Return pairs of mechanisms: k-RR, noise, bits, silence, and one question of two."""
    (one, first), (other, second) = people.attributes.items()
    return [
        fw.Each(people, {one: fw.KRR(first, 3.0), other: fw.KRR(second, 2.0)}),
        fw.Each(people, {one: fw.Geometric(first, 1.5), other: fw.RAPPOR(second, 3.0)}),
        fw.Each(people, {one: fw.Silent(), other: fw.KRR(second, 4.0)}),
        fw.OneOf(people, {one: fw.KRR(first, 4.0), other: fw.KRR(second, 4.0)}),
    ]


def truth(people, strength=1.0):
    """Return a table whose attributes depend on each other by so much."""
    rows, columns = people.sizes
    tilt = np.outer(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns))
    joint = np.exp(strength * tilt) * np.linspace(1, 2, rows)[:, None]
    if not strength:
        joint = np.outer(joint.sum(axis=1), np.linspace(1, 2, columns))
    return joint / joint.sum()


def evidence_of(people=PEOPLE, count=4000, strength=1.0, seed=0, some=None):
    """Draw evidence, each mechanism chosen as often."""
    rng = np.random.default_rng([seed, count])
    theta, chosen = truth(people, strength).ravel(), some or mechanisms(people)
    who = rng.multinomial(count, np.full(len(chosen), 1 / len(chosen)))
    values = [rng.choice(theta.size, size=many, p=theta) for many in who]
    pairs = zip(chosen, values, strict=True)
    return fw.collect([(one, one.obfuscate(own, rng)) for one, own in pairs])
