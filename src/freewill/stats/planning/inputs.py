"""What `plan` takes: shares, numbers of people, a target, and what is asked."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from freewill.core.types import FloatArray, IntArray, distribution, numbers
from freewill.domain.alphabets.base import Alphabet
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, closest, several, shown
from freewill.stats.estimators.estimate import Estimate
from freewill.stats.functionals import Quantiles, Weights, asked, weights_of
from freewill.stats.information import DENSE
from freewill.stats.planning.needed import MOST_PEOPLE
from freewill.stats.planning.truths import truths

_USUAL = tuple(round(10 ** (half / 2)) for half in range(4, 13))
"""From 100 to a million, two a decade."""


def checked_shares(survey: Survey, shares: Any) -> dict[str, float]:
    """Return the share of people of each mechanism, by its name.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> survey = fw.Survey(line, {"careful": fw.KRR(line, 1.0), "open": fw.Identity(line)})
    >>> checked_shares(survey, {"carefull": 1.0})
    Traceback (most recent call last):
    freewill.errors.ParameterError: shares: no mechanism 'carefull' in the survey. Did you mean
    'careful'? There are 'careful', 'open'.
    """
    names = list(survey.mechanisms)
    if shares is None:
        return dict.fromkeys(names, 1 / len(names))
    if isinstance(shares, Mapping):
        found = dict.fromkeys(names, 0.0)
        given: dict[str, Any] = {}
        for name, share in shares.items():
            if not isinstance(name, str) or name not in survey.names:
                known = ", ".join(map(shown, names[:8])) + (", ..." if len(names) > 8 else "")
                raise ParameterError(
                    f"shares: no mechanism {shown(name)} in the survey.{closest(name, names)} "
                    f"There are {known}."
                )
            if survey.names[name] in given:
                raise ParameterError(f"shares: {shown(name)} is named twice, by name and by id.")
            given[survey.names[name]] = share
        for name, share in given.items():
            found[name] = _share(share, f"shares[{name!r}]")
    else:
        wanted = f"a share for each of {several(len(names), 'mechanism')}, by name or in order"
        values = numbers(shares, "shares", wanted)
        if values.shape != (len(names),):
            raise ParameterError(f"shares={shown(shares)}: expected {wanted}.")
        found = {
            name: _share(value, f"shares[{number}]")
            for number, (name, value) in enumerate(zip(names, values.tolist(), strict=True))
        }
    total = sum(found.values())
    if abs(total - 1) > 1e-9:
        raise ParameterError(f"shares sum to {total:.10g}: expected 1. Divide them by their sum.")
    return {name: share / total for name, share in found.items()}


def _share(value: Any, name: str) -> float:
    number = numbers(value, name, "a share, 0 to 1")
    if number.ndim or not 0 <= number < np.inf:
        raise ParameterError(f"{name} is {shown(value)}: expected a share, 0 to 1.")
    return float(number)


def checked_people(people: Any) -> IntArray:
    """Return numbers of people: integers of at least 2.

    >>> checked_people(1e4)
    array([10000])
    """
    if people is None:
        return np.array(_USUAL)
    wanted = f"one integer or several, from 2 to {MOST_PEOPLE:.0e}"
    found = np.atleast_1d(numbers(people, "people", wanted))
    good = (found >= 2) & (found <= MOST_PEOPLE) & (np.floor(found) == found)
    if found.ndim != 1 or not found.size or not good.all():
        raise ParameterError(f"people={shown(people)}: expected {wanted}.")
    return found.astype(np.int64)


def checked_target(target: Any) -> float:
    """Return a target: a number > 0."""
    number = numbers(target, "target", "a number > 0")
    if number.ndim or not 0 < number < np.inf:
        raise ParameterError(f"target={shown(target)}: expected a number > 0 and finite.")
    return float(number)


def is_emd(of: Any) -> bool:
    """Say whether errors are planned for as earth mover's distances, and not of functionals.

    >>> is_emd("emd"), is_emd("shares")
    (True, False)
    """
    return of is None or (isinstance(of, str) and of == "emd")


def checked_weights(of: Any, alphabet: Alphabet, target: float | None) -> Weights:
    """Return the functionals as rows of weights; refuse what a large alphabet cannot answer."""
    by_emd = is_emd(of)
    of = "shares" if by_emd else of
    if isinstance(asked(of), Quantiles):
        raise ParameterError(
            f"of={shown(of)}: a quantile's error depends on how steep the CDF is there. Plan for "
            f"'cdf' or 'mean'."
        )
    if alphabet.size > DENSE and by_emd:
        goal = "" if target is None else f"target={target:g} is an EMD, and "
        raise ParameterError(
            f"{goal}{alphabet} has {several(alphabet.size, 'value')}: the EMD and the errors of "
            f"single values are planned for up to {DENSE:,}. Say of='mean', or of which district "
            f"or set of values the standard error is wanted, or plan for a coarser alphabet."
        )
    return weights_of(of, alphabet)


def checked_truths(theta: Any, alphabet: Alphabet) -> dict[str, FloatArray]:
    """Return the truth that is given, or a few."""
    if theta is None:
        return truths(alphabet)
    if not isinstance(theta, Estimate):
        found = distribution(theta, alphabet.size)
        return {"as given": found / found.sum()}
    if theta.alphabet != alphabet:
        raise ParameterError(
            f"theta is an estimate over {theta.alphabet} and the survey is over {alphabet}: plan "
            f"with an estimate over the same alphabet."
        )
    return {f"as estimated by {theta.method}": theta.theta / theta.theta.sum()}
