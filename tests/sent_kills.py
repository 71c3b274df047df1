"""Devices that are killed while they report: run by test_device_kills, prints what was released.

Each child is a fork, so that a kill costs milliseconds. What a child releases it writes to a pipe,
one row a line, in one go.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import freewill as fw

LINE = fw.Linear(0, 99)
KRR = fw.KRR(LINE, 0.5)


def rows(path: Path, questions: list[str], release: Callable[[str, dict[str, str]], None]) -> None:
    """Answer all questions, each time with another value."""
    for question in questions:
        device = fw.Device(KRR, path, question=f"question {question}")
        release(question, device.row(random.SystemRandom().randrange(100)))


def child(path: Path, questions: list[str], crash_at: int | None) -> tuple[int, int]:
    """Start a child, and return its number and where it writes."""
    here, there = os.pipe()
    pid = os.fork()
    if pid:
        os.close(there)
        return pid, here
    os.close(here)

    def release(question: str, row: dict[str, str]) -> None:
        sys.setprofile(None)
        os.write(there, f"{json.dumps([question, row])}\n".encode())

    if crash_at is not None:
        calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("c_call", "c_return")
            if calls == crash_at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
    rows(path, questions, release)
    os._exit(0)


def read(pipe: int) -> Iterator[str]:
    """Yield the rows that were released."""
    with open(pipe, encoding="utf-8") as lines:
        yield from lines


def at_every_step(folder: Path, stride: int) -> int:
    """Kill a device at each call into C of its first report, then let another one report."""
    crash_at, died = 1, True
    while died:
        # In a folder of its own: what is looked for there takes calls, too.
        path = folder / str(crash_at) / "sent.memory"
        path.parent.mkdir()
        pid, pipe = child(path, ["a"], crash_at)
        released = list(read(pipe))
        died = os.waitpid(pid, 0)[1] != 0
        for _ in range(2):
            pid, pipe = child(path, ["a"], None)
            released += read(pipe)
            os.waitpid(pid, 0)
        assert len(released) >= 2
        assert len(set(released)) == 1, (crash_at, released)
        left = {found.name for found in path.parent.iterdir()}
        assert left == {path.name, f".{path.name}.lock"}, left
        crash_at += stride
    return crash_at


def at_random(folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill two devices at one memory at random moments, again and again; then let one go on."""
    draw, path = random.Random(seed), folder / "random.memory"
    released: dict[str, set[str]] = {}
    count = 0
    patience = 0.01
    for number in range(kills):
        questions = [f"{number // 4}-{place}" for place in range(3)]
        pairs = [child(path, questions, None) for _ in range(2)]
        for pid, _ in pairs:
            time.sleep(draw.uniform(0, patience))
            os.kill(pid, signal.SIGKILL)
        if number % 4 == 3:
            start = time.monotonic()
            pairs.append(child(path, questions, None))
            assert os.waitpid(pairs[-1][0], 0)[1] == 0
            # As long as all reports take, on a machine that may be busy.
            patience = time.monotonic() - start
        for _, pipe in pairs:
            for line in read(pipe):
                released.setdefault(json.loads(line)[0], set()).add(line)
                count += 1
        for pid, _ in pairs[:2]:
            os.waitpid(pid, 0)
    assert all(len(same) == 1 for same in released.values()), released
    kept = fw.Memory(path)
    assert kept.spent == sum(sent.epsilon for sent in kept.sent.values())
    for question, (line,) in released.items():
        assert kept.sent[f"id question {question}"].value == json.loads(line)[1]["value"]
    return len(released), count


def together(folder: Path, processes: int, questions: int) -> int:
    """Let several devices answer the same questions at one memory at once."""
    path, names = folder / "together.memory", [str(number) for number in range(questions)]
    pairs = [child(path, names, None) for _ in range(processes)]
    released = [line for _, pipe in pairs for line in read(pipe)]
    assert all(os.waitpid(pid, 0)[1] == 0 for pid, _ in pairs)
    assert len(released) == processes * questions
    assert len(set(released)) == questions
    assert fw.Memory(path).spent == questions * KRR.epsilon
    return questions


if __name__ == "__main__":
    where, what, *numbers = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])
    # What is loaded when it is first used is loaded before any child.
    rows(where / "first.memory", ["first"], lambda question, row: None)
    works = {"step": at_every_step, "random": at_random, "together": together}
    sys.stdout.write(f"{works[what](where, *numbers)}\n")
