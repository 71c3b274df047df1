"""Surveys of several questions, as the tests of devices, pages and the collector use them."""

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
