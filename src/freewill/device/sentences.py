"""What is said of a mechanism's numbers, in the words of one language: warnings and sentences."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from freewill.device.facts import Facts
from freewill.device.words import Words
from freewill.domain.alphabets.grid import Grid

_TWICE = math.log(2)


@dataclass(frozen=True, eq=False)
class Sentences:
    """The numbers of a mechanism, and the words in which they are told."""

    facts: Facts
    words: Words

    def say(self, room: str, which: str, **gaps: str) -> str:
        """Fill the gaps of a text."""
        return self.words.say(self.facts.kind, room, which, **gaps)

    def warnings(self) -> list[str]:
        """Say where the promise is empty, if it is; the worst alone."""
        facts = self.facts
        if facts.hides_nothing:
            return [self.say("warnings", "nothing")]
        if facts.tells_truth:
            return [self.say("warnings", "truth", chance=self._chance(facts.given_away))]
        if not facts.weak:
            return []
        if facts.promise == "geo" and facts.distances is not None:
            apart = self._distance(facts.distances[1])
            return [self.say("warnings", "weak_typical", distance=apart)]
        return [self.say("warnings", "weak")]

    def sentences(self) -> Iterator[str]:
        """Say what reports are like, what they cost who believes them, and what they tell."""
        facts = self.facts
        if facts.silence:
            yield self.say("truth", "silence", chance=self.words.percent(facts.silence))
        if facts.reports > 1:
            yield self.say("truth", "several", many=self._count(facts.reports))
        yield from self._truth()
        yield from self._error()
        yield from self._loss()
        if facts.alphabet.size > 1 and not facts.hides_nothing:
            if facts.promise == "geo" and facts.distances is not None:
                yield from self._geo(*facts.distances)
            else:
                yield self._any(facts.epsilon)
            if facts.lifetime is not None:
                yield self.say("odds", "lifetime", odds=self.words.odds(facts.lifetime))
        if isinstance(facts.alphabet, Grid) and facts.outputs == facts.alphabet:
            width, height = (self.words.in_digits(side) for side in facts.alphabet.cell)
            yield self.say("truth", "cell", width=width, height=height)

    def _chance(self, chance: float) -> str:
        return self.words.percent(self.facts.between(chance))

    def _count(self, many: int) -> str:
        return self.words.in_digits(many, 10)

    def _distance(self, length: float) -> str:
        return self.words.distance(length, self.facts.alphabet.unit)

    def _truth(self) -> Iterator[str]:
        facts = self.facts
        if facts.support is not None and facts.bits is not None:
            draw, many = facts.support
            own, other = (self._chance(one) for one in facts.bits)
            gaps = {"many": self._count(many), "size": self._count(facts.alphabet.size)}
            yield self.say("truth", draw, own=own, other=other, **gaps)
            return
        if facts.outputs is not None and facts.outputs.size == 1 and facts.alphabet.size > 1:
            yield self.say("truth", "unsaid")
            return
        if facts.truths is None:
            if facts.outputs is not None:
                yield self.say("truth", "other", outputs=self._count(facts.outputs.size))
            return
        yield from self._chances(*facts.truths)

    def _chances(self, low: float, _: float, high: float) -> Iterator[str]:
        """Say how often a report is the value, from the least chance to the largest."""
        facts, (least, most) = self.facts, map(self._chance, (low, high))
        if facts.bits is not None:
            own, other = (self._chance(chance) for chance in facts.bits)
            yield self.say("truth", "bits", own=own, other=other)
            yield self.say("truth", "bits_alone", chance=most)
        elif high == 0:
            yield self.say("truth", "never")
        elif low == 1 and math.isinf(facts.epsilon):
            yield self.say("truth", "always")
        elif least == most:
            yield self.say("truth", "chance", chance=most)
        else:
            yield self.say("truth", "range", low=least, high=most)

    def _error(self) -> Iterator[str]:
        mean, far = self.facts.error or (0.0, 0.0)
        if far > 0:
            yield self.say("error", "typical", mean=self._distance(mean), far=self._distance(far))
        elif mean > 0:
            yield self.say("error", "seldom")

    def _loss(self) -> Iterator[str]:
        facts = self.facts
        if facts.loss is None:
            return
        if facts.own_loss:
            yield self.say("loss", "own", loss=self.words.in_digits(facts.loss, 2, "down"))
        elif facts.distances is None:
            yield self.say("loss", "wrong", chance=self.words.percent(facts.loss, "down"))
        else:
            yield self.say("loss", "distance", loss=self._distance(facts.loss))
        yield self.say("loss", "average")

    def _any(self, epsilon: float) -> str:
        """Say what holds for any two values."""
        which = "nothing" if epsilon == 0 else "infinite" if math.isinf(epsilon) else "any"
        return self.say("odds", which, odds=self.words.odds(epsilon))

    def _geo(self, nearest: float, typical: float, widest: float) -> Iterator[str]:
        """Say how near values stay within 2 times as likely, and what is told beyond."""
        epsilon, reach = self.facts.epsilon, _TWICE / self.facts.epsilon
        if epsilon * widest <= _TWICE:
            yield self._any(epsilon * widest)
            return

        def at(which: str, length: float, exponent: float) -> str:
            gaps: Any = {"distance": self._distance(length), "odds": self.words.odds(exponent)}
            return self.say("odds", which, **gaps)

        if reach >= nearest:
            # On a line, the last value within reach.
            whole = math.floor(reach / nearest) * nearest if self.facts.kind == "linear" else reach
            yield at("near", whole, _TWICE)
        else:
            yield at("apart", nearest, epsilon * nearest)
        if typical > max(reach, nearest):
            yield at("far", typical, epsilon * typical)
