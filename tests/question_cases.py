"""Surveys of several questions, as the tests of devices, pages and the collector use them."""

import secrets

import numpy as np

import freewill as fw

AGES = fw.Linear(0, 99, unit="year")
MODES = fw.Categorical(["car", "bus", "bicycle", "on foot"])
TOWN = fw.Grid(6, 4, bounds=(37.70, 37.82, -122.52, -122.35))

AGE = fw.Survey(
    AGES,
    {
        "careful": fw.Geometric(AGES, 0.04),
        "open": fw.KRR(AGES, 5.0),
        "bits": fw.RAPPOR(AGES, 2.0),
        "no answer": fw.Silent(AGES),
    },
    question="How old are you?",
    question_id="our-town/age/2026",
    descriptions={"careful": "Within some twenty-five years.", "no answer": "Nothing is said."},
)
COMMUTE = fw.Survey(
    MODES,
    {
        "careful": fw.KRR(MODES, 1.0),
        "open": fw.KRR(MODES, 3.0),
        "sets": fw.SubsetSelection(MODES, 1.0),
        "no answer": fw.Silent(MODES),
    },
    question="How do you come to work?",
)
HOME = fw.Survey(
    TOWN,
    {"careful": fw.PlanarGeometric(TOWN, 0.4), "own": fw.Family(fw.KRR, TOWN, (0.5, 4.0))},
    question="Where do you live, roughly?",
)
TRAVEL = fw.Questionnaire({"age": AGE, "commute": COMMUTE, "home": HOME}, title="How we travel")
PAIR = fw.Questionnaire({"age": AGE, "commute": COMMUTE}, title="Two questions")


def answers(survey, many, rng, ways=None):
    """Return rows of people whose second answer depends on the first, and what they would say.

    Everybody chooses by chance among the combinations of mechanisms, or among those given.
    """
    names, alphabets = list(survey.questions), [own.alphabet for own in survey.questions.values()]
    first = np.clip(rng.normal(0.45, 0.2, many), 0, 0.99)
    shares = [first, *((first + 0.4 * rng.random(many)) % 1.0 for _ in names[1:])]
    places = [(share * own.size).astype(int) for share, own in zip(shares, alphabets, strict=True)]
    records = np.ravel_multi_index(places, [own.size for own in alphabets])
    ways = ways or [(a, b) for a in AGE.mechanisms for b in COMMUTE.mechanisms]
    rows = []
    for way, some in zip(ways, np.array_split(records, len(ways)), strict=True):
        choices = dict(zip(names, way, strict=True))
        each = survey.chosen(choices)
        for report in each.shown(each.obfuscate(some, rng)):
            values = {name: str(said) for name, said in report.items()}
            own = secrets.token_hex(16)
            rows.append({"mechanism": choices, "value": values, "report_id": own})
    return rows, records
