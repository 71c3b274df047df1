"""`Collector` of freewill.js: what it asks for, what it checks, and when it sends again."""

import pytest
from tools.javascript import evaluated, node

import freewill as fw
from device_cases import skipped
from freewill.core.presented import json_bytes
from freewill.domain.survey_log import FIRST, SERVED, devices_hash, entry_after

pytestmark = [skipped(node(), "Node"), pytest.mark.later]
LINE = fw.Linear(0, 9)
SURVEY = fw.Survey(LINE, {"10": fw.KRR(LINE, 1.0), "9": fw.Geometric(LINE, 0.5)}, question="Which?")
ROUNDS = """async ({ address, answers, work, id }) => {
  const asked = [], waits = [];
  const fetch = async (path, request) => {
    const { status = 0, body = "", headers = {} } = answers.shift();
    asked.push([request?.method ?? "GET", path, request?.headers?.["content-type"] ?? null]);
    if (status === 0) throw new TypeError("Failed to fetch");
    return new Response(body, { status, headers });
  };
  const made = new collector.Collector(address, { fetch, wait: async (s) => waits.push(s) });
  const call = { survey: () => made.survey(id), send: () => made.send(id, "{}", { tries: 4 }) };
  const told = await call[work]().catch((error) => `${error.name}: ${error.message}`);
  const menu = told.survey?.menu().map(({ name }) => name);
  return { asked, waits, told: menu ?? told };
}"""


def run(work, answers, address="https://c.org/folder/"):
    given = {"address": address, "answers": answers, "work": work, "id": SURVEY.id}
    return evaluated(ROUNDS, given)


def page(survey):
    spec = survey.for_devices()
    entry, head = entry_after(FIRST, 1, SERVED, survey.id, devices_hash(spec), "2026-11-18")
    place = {"number": 1, "head": head}
    shown = {"id": survey.id, "closed": None, "log": place, "explained": [], "survey": spec}
    log = {"number": 1, "head": head, "entries": [entry]}
    return [{"status": 200, "body": json_bytes(one).decode()} for one in (shown, log)]


def test_a_survey_is_the_one_that_was_asked_for_and_is_in_the_log():
    found = run("survey", page(SURVEY))
    assert found["told"] == ["10", "9"]
    root = "https://c.org/folder/v1"
    assert [path for _, path, _ in found["asked"]] == [
        f"{root}/surveys/{SURVEY.id}",
        f"{root}/log",
    ]
    other = fw.Survey(LINE, {"10": fw.KRR(LINE, 9.0)}, question="Which?")
    assert "and the survey that came is" in run("survey", page(other))["told"]
    served, log = page(SURVEY)
    log["body"] = log["body"].replace("2026-11-18", "2026-11-19")
    assert "is not in the log of surveys" in run("survey", [served, log])["told"]


def test_a_report_is_sent_again_while_the_collector_is_busy_or_away():
    stored = {"status": 200, "body": '{"stored": 1, "known": 0}'}
    busy = {"status": 503, "headers": {"retry-after": "7"}}
    found = run("send", [{}, busy, {"status": 429}, stored])
    assert found["told"] == {"stored": 1, "known": 0}
    assert found["waits"] == [1, 7, 4]
    address = f"https://c.org/folder/v1/surveys/{SURVEY.id}/reports"
    assert found["asked"] == [["POST", address, "application/json"]] * 4


@pytest.mark.parametrize(
    ("answers", "words", "rounds"),
    [
        ([{"status": 410, "body": '{"error": "closed", "what to do": "Nothing."}'}], "closed", 1),
        ([{"status": 422, "body": "<html>"}], "it answered 422. Try again later.", 1),
        ([{}] * 4, "Failed to fetch", 4),
        ([{"status": 503, "headers": {"retry-after": "soon"}}] * 4, "it answered 503", 4),
    ],
)
def test_what_is_refused_or_stays_away_is_an_error_in_its_words(answers, words, rounds):
    found = run("send", answers)
    assert found["told"].startswith("FreewillError: the collector: ")
    assert words in found["told"]
    assert len(found["asked"]) == rounds
    assert len(found["waits"]) == rounds - 1


@pytest.mark.parametrize("address", ["c.org", "ftp://c.org", "https://c.org?a=b", 7])
def test_what_is_no_address_is_refused(address):
    body = (
        "async (given) => { try { new collector.Collector(given) } catch (e) { return e.message } }"
    )
    assert "expected its address" in evaluated(body, address)
