"""The collector in a minute: a server on loopback, 10,000 people's devices, and where to look.

A survey is served by `freewill serve`. Each person's device draws one noisy report and sends it
alone, over HTTP, and the estimate is looked at while they come in. At the end the server stops; on
a terminal it first stays for a minute, so that its pages can be opened.
"""

import http.client
import json
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from demo import age_pyramid, print_table

import freewill as fw
from freewill.core.progress import progress
from freewill.device import clock

LOOKS = (100, 300, 1_000, 3_000, 10_000)
"""After how many people the estimate is looked at; the last is how many there are."""
OUT = Path("out")
CONNECTIONS = 4
STAY = 60
"""Seconds for which the server stays on a terminal."""

AGES = fw.Linear(0, 99, unit="year")
SURVEY = fw.Survey(
    AGES,
    {
        "a few years off": fw.Geometric(AGES, epsilon=0.15),
        "well hidden": fw.RAPPOR(AGES, epsilon=2.0),
        "perhaps my age, perhaps any": fw.KRR(AGES, epsilon=4.0),
    },
    title="How old are we?",
    question="How old are you, in years?",
    question_id="freewill tour: age",
    descriptions={
        "a few years off": "An age near yours is sent.",
        "well hidden": "A hundred coins are sent, of which one leans towards your age.",
        "perhaps my age, perhaps any": "Your age or any other one is sent, and nobody knows which.",
    },
)
CHOICES = (0.5, 0.2, 0.3)


@dataclass(frozen=True)
class Server:
    """What a server of one survey said at its start."""

    page: str
    token: str

    @property
    def survey(self) -> str:
        """The id of the survey."""
        return self.page.rpartition("/")[2]

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection to it."""
        return http.client.HTTPConnection(self.page.split("/")[2], timeout=60)

    def estimate(self) -> dict[str, Any]:
        """Return the estimate of what came so far."""
        line = self.connect()
        bearer = {"authorization": f"Bearer {self.token}"}
        line.request("GET", f"/v1/surveys/{self.survey}/estimate", headers=bearer)
        found: dict[str, Any] = read(line)
        line.close()
        return found


def main(looks: Sequence[int] = LOOKS) -> None:
    """Serve, let people answer, look, and stop."""
    people = looks[-1]
    OUT.mkdir(exist_ok=True)
    rng = np.random.default_rng()
    truth = age_pyramid(AGES)
    with serving(OUT / "tour.survey.json", OUT / "tour.db") as server:
        print(f"\nThe collector: {server.page}\n\n{people:,} people answer, one at a time\n")
        ages = rng.choice(AGES.size, size=people, p=truth)
        chosen = rng.choice(list(SURVEY.mechanisms), size=people, p=CHOICES)
        rows, begun, sent = [], time.perf_counter(), 0
        for until in looks:
            send(server, ages[sent:until], chosen[sent:until], f"to {until:,} people")
            sent = until
            rows.append(looked(server.estimate(), truth))
        seconds = time.perf_counter() - begun
        print_table(
            [
                "people",
                "error: EMD (years)",
                "widest interval",
                "gap to the optimum",
                "choice is free",
            ],
            rows,
        )
        print(
            f"\n{people:,} reports in {seconds:.0f} s, each on the disk before it was answered\n"
            f"\n  answer it yourself  {server.page}"
            f"\n  watch it            {server.page}/dashboard"
            f"\n  with the token      {server.token}\n"
        )
        stay()
    print(
        f"the server has stopped; its reports are in {OUT / 'tour.db'}:\n"
        f"  freewill serve {OUT / 'tour.survey.json'} --store {OUT / 'tour.db'}\n"
        f"  freewill collect {OUT / 'tour.db'} --survey {OUT / 'tour.survey.json'} --out "
        f"{OUT / 'tour.parquet'}"
    )


@contextmanager
def serving(survey: Path, store: Path) -> Iterator[Server]:
    """Serve a survey from an empty store with the command `freewill serve`, and stop it."""
    SURVEY.save(survey)
    for left in store.parent.glob(f"{store.name}*"):
        left.unlink()
    command = [sys.executable, "-m", "freewill", "serve", str(survey), "--store", str(store)]
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            while not (found := re.search(r": (http\S+)\n.*token, shown.*: (\S+)\n", said)):
                line = process.stdout.readline()
                if not line:
                    raise SystemExit("`freewill serve` did not start: its error stands above.")
                said += line
            yield Server(*found.groups())
        finally:
            process.send_signal(signal.SIGTERM)


def send(server: Server, ages: np.ndarray, chosen: np.ndarray, what: str) -> None:
    """Let each person's device draw a report and send it, over a few connections at once."""
    device = fw.Device(SURVEY)
    clock.QUANTUM = 0  # nobody has a watch on simulated people

    def some(part: np.ndarray) -> Iterator[int]:
        line = server.connect()
        for person in part:
            message = device.message(int(ages[person]), str(chosen[person]))
            line.request(
                "POST",
                f"/v1/surveys/{server.survey}/reports",
                message,
                {"content-type": "application/json"},
            )
            read(line)
            yield 1
        line.close()

    with ThreadPoolExecutor(CONNECTIONS) as pool, progress(f"sending, {what}") as show:
        parts = np.array_split(np.arange(len(ages)), CONNECTIONS)
        done = [0] * CONNECTIONS

        def run(number: int) -> None:
            for one in some(parts[number]):
                done[number] += one
                show(sum(done) / len(ages))

        list(pool.map(run, range(CONNECTIONS)))


def read(line: http.client.HTTPConnection) -> Any:
    """Return an answer, or end with what the server says is wrong."""
    answer = line.getresponse()
    content = json.loads(answer.read())
    if answer.status != 200:
        raise SystemExit(f"the collector says {answer.status}: {content['error']}")
    return content


def looked(found: Mapping[str, Any], truth: np.ndarray) -> list[str]:
    """Return what is to be said of an estimate."""
    theta = np.asarray(found["theta"])
    sure = found["intervals"] or {"low": [0], "high": [1]}
    widest = np.max(np.subtract(sure["high"], sure["low"])) / 2
    choice = found["checks"]["free_choice"].get("p_value")
    return [
        f"{found['people']:,}",
        f"{fw.emd(theta, truth, AGES):.2f}",
        f"+- {100 * widest:.1f} %",
        f"{found['gap']:.0e}",
        "not known" if choice is None else f"p = {choice:.2f}",
    ]


def stay() -> None:
    """Let a person at a terminal look at the pages, until they press Enter."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    print(f"The server stays for {STAY} s: open the pages; Enter stops it now.")
    select.select([sys.stdin], [], [], STAY)


if __name__ == "__main__":
    main()
