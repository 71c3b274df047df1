"""What the page really drew and sent follows its law, as the collector's store has it."""

import json
import os

import numpy as np
import pyarrow as pa
import pytest

from contract import ENTRIES, count_reports, g_test
from device_cases import EPSILON, SIZE, VALUE, lawful
from freewill.io.decoding import unmarked
from pages_cases import browsing, evidence_of_bodies, needs_pages, person, serving

pytestmark = needs_pages
NAMES = ("k-rr on labels", "geometric", "planar geometric", "rappor on a line")
TRIED = [entry for entry in ENTRIES if entry.name in NAMES]
PEOPLE = 600 * int(os.environ.get("FREEWILL_FUZZ", "1"))
"""How many answer under each law: `FREEWILL_FUZZ=4` makes it 2,400 instead of all laws together."""
LEAST = 1e-6 / len(NAMES)
"""Nobody can seed a browser's generator: a right page fails less than once in a million runs."""
CROWD = """async ([id, place, people]) => {
  const from = (file) => import(new URL(file, location.href));
  const { Way } = await from("../web/answer-way.js");
  const { Memory, Survey, temporary } = await from("../device/freewill.js");
  const survey = Survey.parse((await (await fetch(`../v1/surveys/${id}`)).json()).survey);
  const [{ name }] = survey.menu();
  const value = survey.alphabet.decode(place);
  const disk = { keep: async () => {}, restore: async () => {} };
  const bodies = [];
  const answer = async () => {
    const options = { memory: new Memory(temporary()), copies: disk, receipts: temporary() };
    const way = new Way(survey, id, options);
    const { fresh } = await way.draw(value, name);
    const outcome = await way.send(() => {});
    if (!fresh || outcome.answer?.stored !== 1) throw new Error(JSON.stringify(outcome));
    bodies.push(way.body);
  };
  const queue = async () => { while (people-- > 0) await answer(); };
  await Promise.all([...Array(8)].map(queue));
  return bodies;
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    surveys = {entry.name: lawful(entry) for entry in TRIED}
    with serving(tmp_path_factory.mktemp("law"), surveys=surveys) as found:
        yield found


@pytest.fixture(scope="module")
def page(served):
    with browsing() as browser, person(browser, served, NAMES[0]) as one:
        yield one.page


@pytest.mark.parametrize("entry", TRIED, ids=lambda entry: entry.name)
def test_what_the_page_sent_follows_its_law(served, page, entry):
    survey = served.surveys[entry.name]
    bodies = page.evaluate(CROWD, [survey.id, VALUE, PEOPLE])
    assert len({json.loads(body)["report_id"] for body in bodies}) == PEOPLE
    assert served.evidence(entry.name) == evidence_of_bodies(survey, bodies)
    (mechanism,) = survey.mechanisms.values()
    space = mechanism.output_space
    texts = pa.array([f"value:{json.loads(body)['value']}" for body in bodies])
    counts = count_reports(mechanism, space.decode(unmarked(space, texts)).outputs)
    assert np.sum(counts) == PEOPLE
    assert g_test(counts, entry.oracle(mechanism)[VALUE]) > LEAST
    # The judge is not blind: another epsilon is seen.
    other = entry.oracle(entry.build(SIZE, 2 * EPSILON))[VALUE]
    assert g_test(counts, other) < LEAST
