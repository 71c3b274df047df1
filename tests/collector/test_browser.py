"""freewill.js in Debian's Chromium: what the browser really draws, and Python's bytes."""

import numpy as np
from tools.javascript import chromium, in_chromium
from tools.javascript.cases import surveys

import freewill as fw
from device_cases import LAWFUL, assert_same_draws, assert_vectors, p_values, skipped

pytestmark = skipped(chromium(), "Chromium")


def test_what_the_browser_really_draws_follows_the_law():
    """From crypto.getRandomValues: a right sampler fails less than once in 50,000 runs."""
    found = p_values(in_chromium, 20_000)
    assert len(found) == len(LAWFUL)
    assert min(found.values()) > 1e-6, found


def test_the_same_bytes_give_the_same_reports():
    stream = np.random.default_rng(15).bytes(1 << 20)
    few = {"default": 100, "planar-geometric": 10, "rappor": 10}
    assert assert_same_draws(in_chromium, surveys(), stream, few) > 4000


def test_the_browser_reproduces_the_vectors():
    assert_vectors(in_chromium)


def test_nothing_is_drawn_without_a_generator():
    line = fw.Linear(0, 9)
    survey = fw.Survey(line, {"k": fw.KRR(line, 1.0)}).for_devices()
    told = in_chromium("withoutCrypto", {"survey": survey, "name": "k", "value": 3})
    assert "no crypto.getRandomValues" in told["error"]
