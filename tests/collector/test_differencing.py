"""The attack on published numbers: ask before and after somebody answers, and take the difference.

Whoever may only ask learns of a person what the release tells of everybody who is new in it: the
best guess is what most of them sent, and it is right as often as that is their share. Whoever also
sends all other reports of a release knows what is left, unless the counts have noise: then they
tell any two answers apart with at most e^epsilon / (1 + e^epsilon).
"""

import math
from collections import Counter

import numpy as np
import pytest

import freewill as fw
from freewill.collector.releases import ReleaseRule, Releases
from freewill.collector.store import open_store
from freewill.collector.surveys import Upload, evidence_of, to_bytes
from freewill.domain.survey import Survey
from service_cases import needs_serve, sent, served

pytestmark = needs_serve
PARTIES = fw.Categorical(["Labour", "Liberal", "Green", "None"])
SURVEY = Survey(PARTIES, {"open": fw.Identity(PARTIES), "protected": fw.KRR(PARTIES, 1.0)})
RELEASES, OTHERS, VICTIMS = 10, 200, 8
"""Of each release: 2,000 others and 80 victims in all."""
PUBLIC = ("people", "estimate", "table", "plan?target=0.1&of=shares", "")
SLACK = 4.0
"""Standard deviations by which a right bound is exceeded once in 30,000 runs."""


def answer(rng):
    """Return what somebody sends: their choice and their report."""
    name = "open" if rng.random() < 0.3 else "protected"
    value = rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])
    return name, int(SURVEY.mechanisms[name].obfuscate([value], rng)[0])


async def asked(client):
    """Return all that everyone may ask for, of the survey and of the server."""
    root = f"/v1/surveys/{client.survey}"
    addresses = [f"{root}/{what}".rstrip("/") for what in PUBLIC]
    answers = [await client.get(one) for one in (*addresses, "/v1/surveys", "/v1/health")]
    return [(one.status, one.body) for one in answers]


def histogram(client):
    """Return the exact counts behind a release, which is more than anything that is published."""
    source = client.made.releases
    with source.store.view() as view:
        evidence = evidence_of(view, source.survey(view, client.survey))
    found = Counter()
    for group in evidence.groups:
        for output, many in zip(group.outputs.tolist(), group.counts.tolist(), strict=True):
            found[group.name, output] = many
    return found


def no_better(hits, chances):
    """Say whether so many guesses are right with these chances, but for luck."""
    spread = math.sqrt(sum(one * (1 - one) for one in chances))
    return hits <= sum(chances) + SLACK * spread


@pytest.mark.later
def test_who_only_asks_learns_what_is_said_of_everybody(tmp_path):
    async def work(client):
        rng, hits, chances = np.random.default_rng(1), Counter(), {"pair": [], "mechanism": []}
        before = Counter()
        for hour in range(1, RELEASES + 1):
            shown = await asked(client)
            victims = []
            for _ in range(VICTIMS):
                some = [answer(rng) for _ in range(OTHERS // VICTIMS)]
                await client.post([sent(*one) for one in some])
                client.made.releases.tick()  # who asks makes no release
                victims.append(answer(rng))
                await client.post(sent(*victims[-1]))
                assert await asked(client) == shown  # nothing to take a difference of
            client.made.releases.clock = lambda now=3600.0 * hour: now
            client.made.releases.tick()
            assert client.made.releases.made == hour
            assert await asked(client) != shown
            now = histogram(client)
            new, before = now - before, now
            chosen = Counter()
            for (name, _), many in new.items():
                chosen[name] += many
            for what, counts, truths in (
                ("pair", new, victims),
                ("mechanism", chosen, [name for name, _ in victims]),
            ):
                ((guess, most),) = counts.most_common(1)
                hits[what] += truths.count(guess)
                chances[what] += [most / counts.total()] * VICTIMS
        assert len(chances["pair"]) == 80
        for what, own in chances.items():
            assert no_better(hits[what], own), (what, hits[what], sum(own))

    served(work, tmp_path / "store.db", SURVEY, public=True, rule=ReleaseRule(people=100))


class Forger:
    """A release of whom all but one are the attacker's own: a store, and a clock."""

    def __init__(self, path, epsilon=None):
        self.store, self.hour, self.survey = open_store(str(path)), 0, SURVEY.id
        self.numbers, self.rng = self.store.add(SURVEY), np.random.default_rng(2)
        rule = ReleaseRule(people=2, epsilon=epsilon)
        self.releases = Releases(self.store, [SURVEY], rule, clock=lambda: 3600.0 * self.hour)

    def released(self, *answers):
        """Return what the next release has, with these answers in it."""
        rows = []
        for name, report in answers:
            mechanism = SURVEY.mechanisms[name]
            (output,) = to_bytes(np.array([report]))
            rows.append((self.numbers[mechanism.id], output, self.rng.bytes(16)))
        self.store.write([Upload(self.survey, rows)], "2026-01-01")
        self.hour += 1
        self.releases.tick()
        assert self.releases.made == self.hour
        with self.store.view() as view:
            return evidence_of(view, self.releases.survey(view, self.survey))


FORGED = ("open", 3)


def published(evidence):
    """Return numbers that the estimate of a release says of it."""
    estimate = fw.gibu(evidence)
    return np.append(estimate.theta, estimate.log_likelihood)


def test_who_forges_all_others_reads_off_the_last_one_where_counts_are_exact(tmp_path):
    """As documented: exact counts hide nobody who is alone in a release, rounded or not."""
    forger = Forger(tmp_path / "store.db")
    known = forger.released(
        FORGED, *((name, one) for name in SURVEY.mechanisms for one in range(4))
    )
    for victim in [("open", 0), ("protected", 3), ("open", 2)]:
        shown = published(forger.released(FORGED, victim))
        guesses = {}
        for name, mechanism in SURVEY.mechanisms.items():
            for report in range(4):
                own = [(SURVEY.mechanisms["open"], [FORGED[1]]), (mechanism, [report])]
                guesses[name, report] = known + fw.collect(own)
        off = {guess: np.abs(published(one) - shown).sum() for guess, one in guesses.items()}
        assert min(off, key=off.get) == victim
        known = guesses[victim]


@pytest.mark.later
def test_who_forges_all_others_is_held_to_the_noise(tmp_path, monkeypatch):
    """By the most likely of two answers: nothing tells them apart better."""
    epsilon, rounds, rng = 1.0, 250, np.random.default_rng(3)
    monkeypatch.setattr("freewill.collector.releases.SystemGenerator", lambda: rng)
    forger = Forger(tmp_path / "store.db", epsilon)
    one, other = ("open", 0), ("protected", 1)
    before, hits = Counter(), 0.0
    for _ in range(rounds):
        victim = (one, other)[rng.integers(2)]
        noisy = forger.released(FORGED, victim)
        now = Counter()
        for group in noisy.groups:
            for output, many in zip(group.outputs.tolist(), group.counts.tolist(), strict=True):
                now[group.name, output] = many
        moved = {cell: now[cell] - before[cell] for cell in (one, other)}
        before = now
        # log P(moved given one) - log P(moved given the other), in steps of epsilon / 2.
        odds = sum(
            sign * (abs(moved[cell]) - abs(moved[cell] - 1))
            for cell, sign in ((one, 1), (other, -1))
        )
        hits += 0.5 if odds == 0 else float((odds > 0) == (victim == one))
    bound = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert no_better(hits, [bound] * rounds)
    assert hits > 0.55 * rounds  # the attack is one: noise of a budget does not hide everything
