"""The page in several languages: what people read changes, and what is sent does not."""

import base64
import importlib.util
import json
import re

import pytest

import freewill as fw
from device_cases import skipped
from freewill.device.words import languages, words
from map_cases import TOWN
from pages_cases import STORED, browsing, needs_pages, person, serving

pytestmark = needs_pages
ROADS = fw.Categorical(["car", "bus", "on foot"])
AGES = fw.Linear(0, 99, unit="year")
CITY = fw.map_grid(TOWN, cell=0.4)
LOGO = (
    "data:image/svg+xml;base64,"
    + base64.b64encode(
        b'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30">'
        b'<rect width="90" height="30"/></svg>'
    ).decode()
)
GERMAN = {
    "title": "Wie wir unterwegs sind",
    "question": "Wie kommen Sie zur Arbeit?",
    "introduction": "Wir planen Straßen.\n\nEs dauert eine Minute.",
    "consent": "Ich nehme freiwillig teil.",
    "labels": {"car": "Auto", "on foot": "zu Fuß"},
    "names": {"careful": "vorsichtig"},
    "descriptions": {"careful": "Viel Rauschen."},
}
SURVEYS = {
    "roads": fw.Survey(
        ROADS,
        {"careful": fw.KRR(ROADS, 0.8), "open": fw.Identity(ROADS)},
        title="How we travel",
        question="How do you come to work?",
        descriptions={"careful": "Much noise."},
        introduction="We plan <b>roads</b>.\n\nIt takes a minute.",
        contact="roads@town.example",
        consent="I take part of my own will.",
        logo=LOGO,
        period="day",
        translations={
            "de": GERMAN,
            "ar": {
                "title": "كيف نتنقل",
                "question": "كيف تصل إلى العمل؟",
                "labels": {"car": "سيارة"},
            },
        },
    ),
    "ages": fw.Survey(
        AGES,
        {"careful": fw.Geometric(AGES, 0.05), "own": fw.Family(fw.KRR, AGES, epsilon=(0.1, 5))},
        question="Wie alt sind Sie?",
        language="de",
    ),
    "city": fw.Survey(
        CITY.grid,
        {"careful": fw.PlanarGeometric(CITY.grid, 0.4), "bits": fw.RAPPOR(CITY.grid, 3.0)},
        background=CITY.background,
    ),
}
_AGE = fw.Survey(
    AGES,
    {"careful": fw.Geometric(AGES, 0.05), "no answer": fw.Silent(AGES)},
    question="How old are you?",
    translations={"de": {"question": "Wie alt sind Sie?", "names": {"careful": "vorsichtig"}}},
)
_ROAD = fw.Survey(ROADS, {"careful": fw.KRR(ROADS, 1.0), "no answer": fw.Silent(ROADS)})
SURVEYS["both"] = fw.Questionnaire(
    {"age": _AGE, "road": _ROAD},
    title="Two questions",
    consent="I take part.",
    translations={"de": {"title": "Zwei Fragen", "consent": "Ich nehme teil."}},
)
SIZES = {"phone": {"width": 360, "height": 740}, "desk": {"width": 1280, "height": 800}}
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
RANDOM = """{
  let state = 1;
  crypto.getRandomValues = (array) => {
    for (let i = 0; i < array.length; i += 1) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      array[i] = state >>> 16;
    }
    return array;
  };
}"""
"""Bytes that are the same for everyone, so that reports can be compared."""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("languages"), surveys=SURVEYS) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with browsing() as found:
        yield found


def choose(page, name):
    """Choose a value by what all languages have in common."""
    page.locator("h2").wait_for()
    if name == "roads":
        page.locator(".choices input").first.check()
        page.locator("#consent").check()
    elif name == "ages":
        page.locator("form input[type=number]").fill("41")
    else:
        page.locator(".plane").click(position={"x": 151, "y": 97})
    page.locator("form button.main").click()
    page.locator(".option").first.wait_for()


def draw(page, place=0):
    page.locator(".option input[type=radio]").nth(place).check()
    page.locator("form button.main").click()
    page.locator("pre").wait_for()
    return page.locator("pre code").text_content()


def send(page):
    page.locator("#place .row button.main").click()
    page.locator("a.button").wait_for()


PEOPLE = [("en", "roads"), ("de", "roads"), ("fr", "ages"), ("de", "city"), ("fr", "roads")]


def look(axe, page, language):
    """Find nothing amiss, in the light and in the dark."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = axe.run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate(WIDE) <= 0
    assert page.locator("html").get_attribute("lang") == language


@skipped(importlib.util.find_spec("axe_playwright_python") is not None, "axe")
@pytest.mark.parametrize("size", SIZES)
def test_five_people_end_to_end_in_three_languages_in_the_light_and_in_the_dark(
    browser, served, size
):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    axe, looks = Axe(), 0
    for language, name in PEOPLE:
        people, said = served.people(name), words(language).texts["page"]
        context = {"viewport": SIZES[size], "locale": language, "reduced_motion": "reduce"}
        with person(browser, served, name, **context) as one:
            page = one.page

            page.locator("h2").wait_for()
            look(axe, page, language)
            choose(page, name)
            for folded in page.locator("details summary").all():
                folded.click()
            page.locator(".why .lesson").wait_for()
            look(axe, page, language)
            assert page.locator("h2").inner_text() == said["protection"]["heading"]
            body = draw(page)
            look(axe, page, language)
            send(page)
            page.locator("#place details summary").click()
            look(axe, page, language)
            looks += 8
            assert page.locator("h2").inner_text() == said["receipt"]["heading"]
            assert one.sent == [body]
            row = json.loads(body)
            assert row["mechanism"] == "careful"
            assert name != "roads" or row["value"] in ROADS.labels
            one.check()
        assert served.people(name) == people + 1
    assert looks == 40


def test_what_is_sent_and_asked_for_is_the_same_whatever_the_language(browser, served):
    """Letter by letter, in as many bytes, by the same requests."""
    seen = []
    for language in [*languages(), "ar", "tlh"]:
        with person(browser, served, locale=language) as one:
            one.page.add_init_script(RANDOM)
            one.page.goto(served.page("roads"))
            choose(one.page, "roads")
            body = draw(one.page)
            asked = sorted({(method, url) for method, url, _ in one.requests})
            kept = one.page.evaluate(STORED)
            seen.append((body, asked, kept))
            assert re.search(r"/words-(de|fr)\.js", str(asked))
            one.check()
    assert len({body for body, _, _ in seen}) == 1
    assert all(asked == seen[0][1] for _, asked, _ in seen)
    assert len({kept for _, _, kept in seen}) == 1
    assert len(seen[0][0].encode()) == SURVEYS["roads"].message_bytes


def test_the_switch_stays_in_the_page_and_keeps_what_was_chosen(browser, served):
    with person(browser, served, "roads", locale="en") as one:
        page = one.page
        page.locator("h2").wait_for()
        page.get_by_label("on foot").check()
        page.locator("#consent").check()
        asked = len(one.requests)
        page.get_by_label("Language").select_option("de")
        assert page.locator("html").get_attribute("lang") == "de"
        assert page.locator("html").get_attribute("dir") == "ltr"
        assert page.title() == page.locator("h1").inner_text() == "Wie wir unterwegs sind"
        assert page.locator("#logo").get_attribute("alt") == "Wie wir unterwegs sind"
        assert page.get_by_label("zu Fuß").is_checked()
        assert page.locator("#consent").is_checked()
        page.get_by_role("button", name="Weiter: Schutz wählen").click()
        assert page.locator(".option label").all_inner_texts() == ["vorsichtig", "open"]
        assert page.locator(".option").first.get_by_text("Viel Rauschen.").count() == 1
        page.locator(".option input").first.check()
        page.get_by_label("Sprache").select_option("fr")
        assert page.locator(".option input").first.is_checked()
        # What the survey does not translate stays as it is, and says in which language it is.
        names = page.locator(".option label bdi")
        assert names.first.get_attribute("lang") == "en"
        assert page.locator("h1 bdi").get_attribute("lang") == "en"
        assert page.get_by_text("Votre réponse :").count() == 1
        draw(page)
        page.get_by_label("Langue").select_option("es")
        assert page.locator("h2").inner_text() == "Esto es lo que se enviará"
        assert len(one.requests) == asked
        send(page)
        page.get_by_label("Idioma").select_option("it")
        assert page.locator("h2").inner_text() == "Ricevuto. Grazie."
        assert "idioma" not in page.evaluate(STORED).lower()
        page.reload()
        page.get_by_text("You have answered this question").wait_for()
        one.check()


def test_the_browsers_languages_are_asked_in_their_order(browser, served):
    for locale, lang in (("pt-BR", "pt"), ("de-CH", "de"), ("tlh", "en"), ("it", "it")):
        with person(browser, served, "city", locale=locale) as one:
            one.page.locator("h2").wait_for()
            assert one.page.locator("html").get_attribute("lang") == lang
            heading = words(lang).texts["page"]["value"]["grid"]
            assert one.page.locator("h2").inner_text() == heading
    # Of a survey in German, where the browser asks for nothing that there is.
    with person(browser, served, "ages", locale="tlh") as one:
        one.page.locator("h2").wait_for()
        assert one.page.locator("html").get_attribute("lang") == "de"
        assert one.page.locator("h1 bdi").get_attribute("lang") is None


def test_what_there_is_and_what_there_is_not_is_said_in_the_language(browser, served):
    with person(browser, served, locale="de", viewport=SIZES["phone"]) as one:
        page = one.page
        page.goto(f"{one.root}/")
        page.locator("#surveys li").first.wait_for()
        titles = page.locator("#surveys a").all_inner_texts()
        assert titles[0] == "Wie wir unterwegs sind"
        assert titles[1] == "Wie alt sind Sie?"
        assert titles[2].startswith("Umfrage ")
        assert titles[3] == "Zwei Fragen"
        page.goto(served.page("ages")[:-1] + "x")
        one.heading("Das hat nicht geklappt")
        assert page.title() == page.locator("h1").inner_text() == "Umfrage"
        assert "Unter dieser Adresse gibt es keine Umfrage." in page.locator("#place").inner_text()
        one.check("404")


def test_numbers_and_units_are_those_of_the_language(browser, served):
    with person(browser, served, "ages", locale="fr") as one:
        page = one.page
        choose(page, "ages")
        assert "41 ans" in page.locator("#place").inner_text()
        assert page.locator("h1 bdi").get_attribute("lang") == "de"
        page.locator(".strength input").fill("12")
        assert page.locator(".strength output").inner_text() == "Epsilon 1,3"
        said = fw.explain(SURVEYS["ages"], "careful", language="fr")
        shown = page.locator(".option").first.text_content()
        assert all(text in shown for text in said.sentences)
        one.check()


def test_from_right_to_left_everything_is_mirrored_and_nothing_scrolls(browser, served):
    """A language that is written leftwards, made up of the German one."""

    def leftwards(route):
        text = route.fetch().text()
        turned = text.replace('"direction": "ltr"', '"direction": "rtl"')
        assert turned != text
        route.fulfill(body=turned, content_type="text/javascript")

    where = """(both) => both.map((what) => document.querySelector(what))
      .map((one) => one.getBoundingClientRect().x)"""
    for name in ("roads", "ages", "city"):
        with person(
            browser, served, locale="de", viewport=SIZES["phone"], reduced_motion="reduce"
        ) as one:
            page = one.page
            page.route("**/device/words-de.js", leftwards)
            page.goto(served.page(name))
            page.locator("h2").wait_for()
            assert page.locator("html").get_attribute("dir") == "rtl"
            steps = page.evaluate(where, [".steps li:first-child", ".steps li:last-child"])
            assert steps[0] > steps[1]
            assert page.evaluate(WIDE) <= 0
            choose(page, name)
            page.locator(".why summary").click()
            page.locator(".lesson").wait_for()
            assert page.evaluate(WIDE) <= 0
            if name == "roads":
                ends = page.evaluate(where, [".rows .long", ".rows .quiet"])
                assert ends[0] > ends[1]
            if name == "city":
                page.get_by_role("button", name="Zurück").click()
                sides = page.evaluate(
                    where, [".movers button:nth-child(2)", ".movers button:nth-child(3)"]
                )
                assert sides[0] < sides[1]  # West and East, as on the map
                assert "," in page.locator("input[dir=ltr]").first.input_value()
                page.locator("form button.main").click()
            radio = page.evaluate(where, [".option input", ".option label"])
            assert radio[0] > radio[1]
            draw(page)
            assert page.evaluate(WIDE) <= 0
            send(page)
            assert page.evaluate(WIDE) <= 0
            page.locator("#place details summary").click()
            signs = page.locator("code").all()  # brackets are not mirrored
            assert {one.evaluate("one => getComputedStyle(one).direction") for one in signs} == {
                "ltr"
            }
            one.check()


def test_a_translation_runs_its_own_way(browser, served):
    with person(browser, served, "roads", locale="ar", viewport=SIZES["phone"]) as one:
        page = one.page
        page.locator("h2").wait_for()
        assert page.locator("h1").inner_text() == "كيف نتنقل"
        for text in (page.locator("h1 bdi"), page.locator(".choices bdi").first):
            assert text.get_attribute("lang") == "ar"
            assert text.get_attribute("dir") == "rtl"
        assert page.locator("#language option:checked").inner_text() == "العربية"
        page.goto(f"{one.root}/")
        page.locator("#surveys li").first.wait_for()
        assert page.locator("#surveys a").first.inner_text() == "كيف نتنقل"
        assert page.locator("#surveys bdi").first.get_attribute("dir") == "rtl"
        page.goto(served.page("roads"))
        page.locator("h2").wait_for()
        # The page itself has no such words.
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.evaluate(WIDE) <= 0
        one.check()


def test_the_survey_introduces_itself_and_asks_for_consent(browser, served):
    with person(browser, served, "roads", locale="en") as one:
        page = one.page
        page.locator("h2").wait_for()
        shown = page.locator("#place").inner_text()
        assert "We plan <b>roads</b>." in shown
        assert page.locator("#contact").inner_text() == "Contact: roads@town.example"
        logo = page.locator("#logo")
        assert logo.get_attribute("src") == LOGO
        assert logo.evaluate("(one) => one.decode().then(() => one.naturalWidth)") == 90
        page.get_by_label("bus").check()
        page.get_by_role("button", name="Next").click()
        page.get_by_role("alert").filter(has_text="tick the box").wait_for()
        assert page.evaluate("document.activeElement.id") == "consent"
        before = page.evaluate(STORED)
        page.get_by_label("I take part of my own will.").check()
        assert page.evaluate(STORED) == before
        page.get_by_role("button", name="Next").click()
        one.heading("How shall it be protected?")
        page.get_by_role("button", name="Back").click()
        assert page.locator("#consent").is_checked()
        page.get_by_role("button", name="Next").click()
        body = draw(page)
        send(page)
        assert set(json.loads(body)) == {"mechanism", "value", "report_id"}
        assert "with all others of the same day" in page.locator("#place").inner_text()
        one.check()


def test_several_questions_in_another_language(browser, served):
    with person(browser, served, "both", locale="de", viewport=SIZES["phone"]) as one:
        page = one.page
        one.heading("1 von 2. Wie alt sind Sie?")
        assert page.title() == "Zwei Fragen"
        # Silence needs consent, too.
        page.get_by_role("button", name="Diese Frage nicht beantworten").click()
        page.get_by_text("Setzen Sie bitte zuerst das Häkchen").wait_for()
        page.get_by_label("Ich nehme teil.").check()
        page.get_by_label("Oder tippen Sie ihn ein").fill("41")
        one.next("Weiter: Schutz wählen")
        page.get_by_label("vorsichtig", exact=True).check()
        one.next("Nächste Frage")
        one.heading("2 von 2. road")
        one.next("Diese Frage nicht beantworten")
        one.heading("Bevor Ihre Berichte gezogen werden")
        assert "41 Jahre\nSchutz: vorsichtig" in page.locator("#place").inner_text()
        assert "Epsilon 4,95 insgesamt: age 4,95, road 0." in page.locator("#spent").inner_text()
        one.next("Meinen verrauschten Bericht ziehen")
        one.heading("Das wird gesendet")
        row = json.loads(page.locator("pre code").text_content())
        assert row["mechanism"] == {"age": "careful", "road": "no answer"}
        assert row["value"]["road"] == "nothing"
        send(page)
        # What they tell together stands in the receipt, too.
        receipt = page.locator("#place").inner_text()
        assert "Epsilon 4,95 insgesamt: age 4,95, road 0." in receipt
        assert "150-mal so wahrscheinlich erscheinen" in receipt.replace("\n", " ")
        assert page.evaluate(WIDE) <= 0
        one.check()
