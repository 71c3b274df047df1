"""Pictures of the dashboard and the page for people: python tests/pictures.py FOLDER."""

import datetime
import sys
import tempfile
from pathlib import Path

import numpy as np

import freewill as fw
from dashboard_cases import drawn, entered, looking, serving, waiting
from freewill.domain.survey import Survey
from pages_cases import browsing, person
from pages_cases import serving as asking
from question_cases import PAIR, answers

AGES = fw.Linear(18, 97, unit="year")
OLD = Survey(
    AGES,
    {
        "careful": fw.Geometric(AGES, 0.1),
        "middling": fw.KRR(AGES, 2.5),
        "relaxed": fw.KRR(AGES, 4.5),
    },
    title="How old are you?",
)
CITY = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, 24, 16)
LUNCH = Survey(
    CITY,
    {
        "near (1 km)": fw.PlanarGeometric(CITY, 2.0),
        "far (3 km)": fw.PlanarGeometric(CITY, 0.8),
        "anywhere": fw.KRR(CITY, 5.0),
    },
    title="Where do you have lunch?",
)
HABITS = fw.Categorical(["Never", "Sometimes", "Every day"])
SMOKE = Survey(
    HABITS,
    {"careful": fw.KRR(HABITS, 0.8), "open": fw.KRR(HABITS, 3.0)},
    title="A question about habits",
    question="How often do you smoke?",
    descriptions={"careful": "Much noise: hardly anything can be learnt about you alone."},
)
PHONE = {"viewport": {"width": 360, "height": 720}}
COLOURS = 160
TILES = "document.getElementById('tiles').innerText"


def ages():
    x = np.arange(AGES.size)
    found = np.exp(-(((x - 18) / 9) ** 2) / 2) + 0.55 * np.exp(-(((x - 46) / 8) ** 2) / 2) + 0.03
    return found / found.sum()


def places():
    at, middle = CITY.positions, CITY.positions.mean(axis=0)
    busy = np.exp(-((at - middle * [1.3, 1.4]) ** 2).sum(axis=1) / 3)
    calm = np.exp(-((at - middle * [0.6, 0.6]) ** 2).sum(axis=1) / 2)
    found = busy + 0.5 * calm + 0.01
    return found / found.sum()


def post(served, survey, rows, rng):
    """Post reports on several days."""
    rng.shuffle(rows)
    parts = np.array_split(np.array(rows, dtype=object), 12)
    for ago, part in zip(range(len(parts) - 1, -1, -1), parts, strict=True):
        day = str(datetime.date(2026, 10, 20) - datetime.timedelta(ago))
        served.made.writer.day = lambda day=day: day
        served.post(survey, list(part)[: int(len(part) * (0.4 + 0.6 * rng.random()))])


def shoot(page, file, height):
    """Take a picture, in as few colours as it needs."""
    page.screenshot(path=file, clip={"x": 0, "y": 0, "width": 1000, "height": height})
    few_colours(file)


def few_colours(file):
    """Write a picture anew, small."""
    from PIL import Image  # noqa: PLC0415

    Image.open(file).convert("RGB").quantize(COLOURS, dither=0).save(file, optimize=True)


def cross(folder, rng):
    """Take a picture of two questions together."""
    rows, _ = answers(PAIR, 20_000, rng)
    with (
        tempfile.TemporaryDirectory() as store,
        serving(Path(store), PAIR) as served,
        browsing() as browser,
        looking(browser) as watched,
    ):
        served.post(PAIR, rows)
        watched.page.set_viewport_size({"width": 760, "height": 840})
        page = entered(watched, served, PAIR)
        waiting(page, "document.querySelector('#cross-caption').textContent.includes('±')")
        page.wait_for_timeout(500)
        file = folder / "dashboard-cross.png"
        page.locator("#crossing").screenshot(path=file)
        few_colours(file)


def people(folder):
    """Take pictures of what people see who choose a protection, and of what they will send."""
    with (
        tempfile.TemporaryDirectory() as store,
        asking(Path(store), surveys={"smoke": SMOKE}) as served,
        browsing() as browser,
        person(browser, served, "smoke", **PHONE, color_scheme="dark") as one,
    ):
        one.page.get_by_label("Sometimes", exact=True).check()
        one.next("Next: choose a protection")
        one.page.locator(".option input").first.check()
        for name in ("protection", "report"):
            file = folder / f"page-{name}.png"
            one.page.screenshot(path=file)
            few_colours(file)
            one.draw() if name == "protection" else None


def main(folder):
    rng = np.random.default_rng(3)
    people(folder)
    cross(folder, rng)
    with tempfile.TemporaryDirectory() as store, serving(Path(store), OLD, LUNCH) as served:
        post(served, OLD, drawn(OLD, 30_000, rng, ages(), [0.25, 0.35, 0.4]), rng)
        post(served, LUNCH, drawn(LUNCH, 45_000, rng, places(), [0.5, 0.3, 0.2]), rng)
        with browsing() as browser:
            for survey, name, scheme, height in (
                (OLD, "dashboard", "light", 840),
                (LUNCH, "dashboard-map", "dark", 830),
            ):
                with looking(browser) as watched:
                    watched.page.set_viewport_size({"width": 1000, "height": height})
                    watched.page.emulate_media(color_scheme=scheme)
                    page = entered(watched, served, survey)
                    waiting(page, f"!{TILES}.includes('looked at')")
                    page.mouse.move(0, 0)
                    page.wait_for_timeout(500)
                    shoot(page, folder / f"{name}.png", height)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
