"""The memory of freewill.js in a browser: its localStorage, its locks, several pages at once."""

import json
import queue

import pytest
from tools import javascript

import freewill as fw

pytestmark = pytest.mark.skipif(not javascript.chromium(), reason="needs Chromium")
LINE = fw.Linear(0, 99)
SURVEY = fw.Survey(LINE, {"k": fw.KRR(LINE, 0.1)}, question="How many?")
PAGES = 4
FRAME = """<script type="module">
import { Survey } from "/freewill/survey.js";
import { Device } from "/freewill/device.js";
import { Memory } from "/freewill/memory.js";
try {
  const survey = Survey.parse(await (await fetch("/survey")).text());
  const rows = [];
  for (let round = 0; round < 5; round += 1) {
    const device = new Device(survey, { memory: new Memory(), question: `question ${round}` });
    rows.push(await device.row(round, "k"));
  }
  parent.postMessage(rows, "*");
} catch (error) {
  parent.postMessage(String(error), "*");
}
</script>"""
PAGE = """<body><script type="module">
import { Memory } from "/freewill/memory.js";
const answers = [];
addEventListener("message", async ({ data }) => {
  answers.push(data);
  if (answers.length < COUNT) return;
  const text = localStorage.getItem("freewill memory");
  localStorage.setItem("freewill memory", text.slice(0, -1));
  let refused = "";
  try { new Memory().spent; } catch (error) { refused = error.message; }
  await fetch("/result", { method: "POST", body: JSON.stringify({ answers, text, refused }) });
});
for (let i = 0; i < COUNT; i += 1) {
  document.body.append(Object.assign(document.createElement("iframe"), { src: "/frame.html" }));
}
</script></body>"""


def test_pages_of_one_browser_send_one_report_a_question(tmp_path):
    answers = {
        "/memory.html": PAGE.replace("COUNT", str(PAGES)).encode(),
        "/frame.html": FRAME.encode(),
        "/survey": json.dumps(SURVEY.spec()).encode(),
    }
    results: queue.Queue[bytes] = queue.Queue()
    with (
        javascript._served(answers, results) as port,
        javascript._browser(f"http://127.0.0.1:{port}/memory.html"),
    ):
        told = json.loads(results.get(timeout=600))
    assert len(told["answers"]) == PAGES
    assert all(rows == told["answers"][0] for rows in told["answers"]), told
    assert "is damaged" in told["refused"]
    (tmp_path / "m").write_text(told["text"], encoding="utf-8")
    kept = fw.Memory(tmp_path / "m")
    assert [kept.sent[f"id question {n}"].value for n in range(5)] == [
        row["value"] for row in told["answers"][0]
    ]
    assert kept.spent == fw.Budget(0.5).limit
