"""Pictures of the page for people, as docs/collector.md shows them: `python -m tools.pages`.

It serves some surveys on the loopback, answers them in Debian's Chromium by Playwright, and writes
pictures of few colours, which are small.
"""

import io
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from runpy import run_path
from typing import Any

import freewill as fw
from tools.javascript import _QUIET

_ROOT = Path(__file__).resolve().parents[1]
OUT = _ROOT / "docs" / "images"
COLOURS = 48
PHONE: Any = {"width": 360, "height": 720}


def surveys() -> dict[str, fw.Survey]:
    """Return what is asked in the pictures."""
    menu = fw.Categorical(["Never", "Sometimes", "Every day"])
    words = {
        "careful": "Much noise: hardly anything can be learnt about you alone.",
        "relaxed": "Less noise: it helps the survey more.",
    }
    ages, modes = fw.Linear(18, 97, unit="year"), fw.Categorical(["car", "bus", "bicycle"])
    age = fw.Survey(
        ages,
        {"careful": fw.Geometric(ages, 0.04), "no answer": fw.Silent(ages)},
        question="How old are you?",
    )
    commute = fw.Survey(
        modes,
        {"careful": fw.KRR(modes, 0.8), "relaxed": fw.KRR(modes, 2.0)},
        question="How do you come to work?",
        descriptions=words,
    )
    homes = fw.map_grid(run_path(str(_ROOT / "examples" / "town.py"))["town"](), cell=0.25)
    near = {"careful": fw.PlanarGeometric(homes.grid, 0.8)}
    return {
        "homes": fw.Survey(
            homes.grid, near, question="Where do you live?", background=homes.background
        ),
        "habits": fw.Survey(
            menu,
            {"careful": fw.KRR(menu, 0.8), "relaxed": fw.KRR(menu, 2.0)},
            title="A question about habits",
            question="How often do you smoke?",
            descriptions=words,
        ),
        "travel": fw.Questionnaire({"age": age, "commute": commute}, title="How we travel"),
    }


@contextmanager
def served(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the surveys; return the addresses of their pages."""
    names = list(surveys())
    for name, survey in surveys().items():
        survey.save(folder / f"{name}.json")
    command = [sys.executable, "-m", "freewill", "serve", *(f"{name}.json" for name in names)]
    with subprocess.Popen(
        [*command, "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            told = [(process.stdout or io.StringIO()).readline() for _ in names]
            yield {
                name: line.split(": ", 1)[1].strip().replace("/v1/", "/")
                for name, line in zip(names, told, strict=True)
            }
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def keep(page: Any, name: str) -> None:
    """Write what a page shows, in few colours."""
    from PIL import Image  # noqa: PLC0415

    shot = Image.open(io.BytesIO(page.screenshot()))
    shot.convert("RGB").quantize(COLOURS).save(OUT / name, optimize=True)
    print(f"{name}: {(OUT / name).stat().st_size:,} bytes")


def main() -> None:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as at,
        sync_playwright() as d,
    ):
        browser = d.chromium.launch(executable_path="/usr/bin/chromium", args=list(_QUIET))
        page = browser.new_context(viewport=PHONE, color_scheme="light").new_page()
        page.goto(at["homes"])
        page.wait_for_selector(".names span")
        page.locator(".plane").click(position={"x": 128, "y": 132})
        page.locator(".zoom").evaluate("one => one.scrollIntoView()")
        keep(page, "page-map.png")
        page = browser.new_context(viewport=PHONE, color_scheme="dark").new_page()
        page.goto(at["habits"])
        page.get_by_label("Sometimes").check()
        page.get_by_role("button", name="Next").click()
        page.get_by_label("careful").check()
        page.wait_for_timeout(300)
        keep(page, "page-protection.png")
        page.get_by_role("button", name="Draw").click()
        page.get_by_role("heading", name="This is what will be sent").wait_for()
        keep(page, "page-report.png")
        questions(
            browser.new_context(viewport=PHONE, color_scheme="light").new_page(), at["travel"]
        )
        browser.close()


def questions(page: Any, address: str) -> None:
    """Take pictures of several questions, and of what is spent on them."""
    page.goto(address)
    page.get_by_label("Or type it").fill("41")
    page.get_by_role("button", name="Next").click()
    page.get_by_label("careful").check()
    page.get_by_role("button", name="Next question").click()
    page.get_by_label("bus").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("relaxed").check()
    page.mouse.move(0, 0)
    page.mouse.wheel(0, -2000)
    page.wait_for_timeout(300)
    keep(page, "page-question.png")
    page.get_by_role("button", name="Look at all of it").click()
    page.get_by_role("heading", name="Before your reports are drawn").wait_for()
    keep(page, "page-ready.png")


if __name__ == "__main__":
    main()
