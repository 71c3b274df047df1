"""Surveys whose answers change from week to week, in a collector's store."""

import numpy as np

import freewill as fw
from freewill.collector.surveys import Upload, to_bytes
from freewill.domain.survey import Survey

AGES = fw.Linear(0, 29, unit="year")
MENU = fw.Categorical(["car", "bus", "<b>bicycle</b>"])
LINE = Survey(AGES, {"careful": fw.Geometric(AGES, 0.3), "relaxed": fw.KRR(AGES, 4.0)}, name="ages")
LABELS = Survey(MENU, {"coin": fw.KRR(MENU, 1.0), "open": fw.KRR(MENU, 4.0)}, name="commute")
MONDAYS = ("2026-10-19", "2026-10-26", "2026-11-02", "2026-11-09")


def week_of(store, survey, day, many, middle, seed):
    """Let so many people answer on a day, their values about a middle."""
    rng, numbers, rows = np.random.default_rng(seed), store.add(survey), []
    for mechanism in survey.mechanisms.values():
        size = survey.alphabet.size
        values = np.clip(rng.normal(middle * size, size / 6, many), 0, size - 1).astype(int)
        outputs = mechanism.obfuscate(values, rng)
        rows += [(numbers[mechanism.id], one, rng.bytes(16)) for one in to_bytes(outputs)]
    store.write([Upload(survey.id, rows)], day)


def filled(store, *surveys):
    """Let people answer surveys in three weeks, and a few in a fourth."""
    for survey in surveys:
        for week, day in enumerate(MONDAYS):
            week_of(store, survey, day, 20 if week == 3 else 300, 0.3 + 0.05 * week, week)
