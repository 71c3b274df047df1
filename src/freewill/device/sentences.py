"""What a mechanism promises, in sentences: true, short, and never more comforting than the law.

Odds are rounded up and errors down, so that no figure promises more than the law keeps.
`js/sentences.js` says the same.
"""

import math

from freewill.device.facts import Facts
from freewill.device.figures import distance, in_digits, odds, percent
from freewill.device.words import WORDS
from freewill.domain.alphabets.grid import Grid

_TWICE = math.log(2)


def noun(facts: Facts, form: str = "one") -> str:
    """Return what people have: an answer, a value or a place; as "many", and at the start, "up"."""
    nouns = WORDS["nouns"]
    return str(nouns.get(facts.kind, nouns["linear"])[form])


def say(facts: Facts, room: str, which: str, **gaps: str) -> str:
    """Fill the gaps of a template."""
    nouns = {
        "value": noun(facts),
        "values": noun(facts, "many"),
        "values_up": noun(facts, "up"),
    }
    return str(WORDS[room][which].format(**nouns, **gaps))


def warnings(facts: Facts) -> list[str]:
    """Say where the promise is empty, if it is; the worst alone."""
    if facts.hides_nothing:
        return [say(facts, "warnings", "nothing")]
    if facts.tells_truth and facts.truths is not None:
        chance = percent(facts.told(facts.truths[1]))
        return [say(facts, "warnings", "truth", chance=chance)]
    if not facts.weak:
        return []
    if facts.promise == "geo" and facts.distances is not None:
        apart = distance(facts.distances[1], facts.alphabet.unit)
        return [say(facts, "warnings", "weak_typical", distance=apart)]
    return [say(facts, "warnings", "weak")]


def sentences(facts: Facts) -> list[str]:
    """Say what reports are like, what they cost who believes them, and what they tell."""
    found = [*_truth(facts), *_error(facts), *_loss(facts)]
    if facts.alphabet.size > 1 and not facts.hides_nothing:
        geo = facts.promise == "geo" and facts.distances is not None
        found += _geo(facts) if geo and facts.epsilon > 0 else [_any(facts, facts.epsilon)]
    if isinstance(facts.alphabet, Grid) and facts.outputs == facts.alphabet:
        width, height = (in_digits(side) for side in facts.alphabet.cell)
        found.append(WORDS["cell"].format(width=width, height=height))
    return found


def _truth(facts: Facts) -> list[str]:
    if facts.truths is None:
        many = "" if facts.outputs is None else in_digits(facts.outputs.size, 10)
        return [say(facts, "truth", "other", outputs=many)] if many else []
    low, _, high = facts.truths
    if facts.bits is not None:
        own, other = (percent(facts.told(chance)) for chance in facts.bits)
        alone = say(facts, "truth", "bits_alone", chance=percent(facts.told(high)))
        return [say(facts, "truth", "bits", own=own, other=other), alone]
    if high == 0:
        return [say(facts, "truth", "never")]
    if low == 1 and math.isinf(facts.epsilon):
        return [say(facts, "truth", "always")]
    least, most = (percent(facts.told(chance)) for chance in (low, high))
    if least == most:
        return [say(facts, "truth", "one", chance=most)]
    return [say(facts, "truth", "range", low=least, high=most)]


def _error(facts: Facts) -> list[str]:
    if facts.error is None or facts.error[0] == 0:
        return []
    if facts.error[1] == 0:
        return [say(facts, "error", "seldom")]
    mean, far = (distance(length, facts.alphabet.unit) for length in facts.error)
    return [say(facts, "error", "typical", mean=mean, far=far)]


def _loss(facts: Facts) -> list[str]:
    if facts.loss is None:
        return []
    average = say(facts, "loss", "average")
    if facts.own_loss:
        return [say(facts, "loss", "own", loss=in_digits(facts.loss, 2, "down")), average]
    if facts.distances is None:
        return [say(facts, "loss", "wrong", chance=percent(facts.loss, "down")), average]
    off = distance(facts.loss, facts.alphabet.unit)
    return [say(facts, "loss", "distance", loss=off), average]


def _any(facts: Facts, epsilon: float) -> str:
    """Say what holds for any two values."""
    if epsilon == 0:
        return say(facts, "odds", "nothing")
    if math.isinf(epsilon):
        return say(facts, "odds", "infinite")
    return say(facts, "odds", "any", odds=odds(epsilon))


def _geo(facts: Facts) -> list[str]:
    """Say within which distance odds stay below 2 to 1, and what is told beyond."""
    nearest, typical, widest = facts.distances or (1.0, 1.0, 1.0)
    unit, epsilon = facts.alphabet.unit, facts.epsilon
    reach = _TWICE / epsilon
    if reach >= widest:
        return [_any(facts, epsilon * widest)]
    if reach >= nearest:
        # On a line, the last value within reach.
        whole = math.floor(reach / nearest) * nearest if facts.kind == "linear" else reach
        first = say(facts, "odds", "near", distance=distance(whole, unit))
    else:
        apart = distance(nearest, unit)
        first = say(facts, "odds", "told", distance=apart, odds=odds(epsilon * nearest))
    if typical <= max(reach, nearest):
        return [first]
    apart = distance(typical, unit)
    return [first, say(facts, "odds", "far", distance=apart, odds=odds(epsilon * typical))]
