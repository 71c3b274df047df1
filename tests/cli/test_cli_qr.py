"""`freewill qr`: a code that another's decoder reads, and the name by which it lasts."""

import importlib.util
import re
from dataclasses import replace

import numpy as np
import pytest

import freewill as fw
from cli_cases import refused, run, run_json

images = pytest.importorskip("matplotlib.image")
MODES = fw.Categorical(["car", "bus"])
SURVEY = fw.Survey(MODES, {"careful": fw.KRR(MODES, 1.0)}, name="commute")
needs_decoder = pytest.mark.skipif(
    importlib.util.find_spec("zxingcpp") is None, reason="zxing-cpp not installed: make service"
)
needs_segno = pytest.mark.skipif(
    importlib.util.find_spec("segno") is None,
    reason="segno not installed: pip install 'freewill[serve]'",
)


@pytest.fixture
def survey(tmp_path):
    path = tmp_path / "survey.json"
    SURVEY.save(path)
    return path


def drawn(path):
    """Return the dark modules of an SVG: strokes of width 1, row by row."""
    text = path.read_text(encoding="utf-8")
    size = int(re.search(r'width="(\d+)"', text)[1]) // int(re.search(r"scale\((\d+)\)", text)[1])
    dark, x, y = np.zeros((size, size), dtype=bool), 0.0, 0.0
    strokes = re.search(r'stroke="#000" d="([^"]*)"', text)[1]
    for kind, numbers in re.findall(r"([Mmh])([^Mmh]*)", strokes):
        one, *other = (float(number) for number in numbers.split())
        if kind == "h":
            dark[int(y), int(x) : int(x + one)] = True
            x += one
        else:
            x, y = (one, other[0]) if kind == "M" else (x + one, y + other[0])
    return dark


@needs_segno
def test_the_code_of_a_name_is_written(survey, tmp_path):
    for kind in ("svg", "png"):
        out = tmp_path / f"poster.{kind}"
        told = run_json("qr", survey, "--url", "https://example.org/ask/", "-o", out)
        assert told["address"] == "https://example.org/ask/s/commute"
    assert (
        "<title>https://example.org/ask/s/commute</title>" in (tmp_path / "poster.svg").read_text()
    )
    dark = images.imread(tmp_path / "poster.png")[4::8, 4::8] < 0.5
    # Both are one code, with white around it.
    assert np.array_equal(dark.reshape(dark.shape[:2]), drawn(tmp_path / "poster.svg"))
    assert not dark[:4].any()
    assert not dark[:, :4].any()


@needs_segno
def test_the_address_of_a_page_is_taken_for_that_of_its_collector(survey, tmp_path):
    given = ("qr", survey, "-o", tmp_path / "poster.svg", "--url")
    pages = {run_json(*given, f"https://a.org/ask{end}")["address"] for end in ("", "/s/commute")}
    assert len(pages) == 1


@needs_segno
@needs_decoder
@pytest.mark.parametrize("url", ["https://example.org", f"https://{'long-' * 12}name.example.org"])
def test_another_decoder_reads_what_was_written(survey, tmp_path, url):
    import zxingcpp  # noqa: PLC0415

    for offered, page in ((SURVEY, "s/commute"), (replace(SURVEY, name=None), "surveys/")):
        offered.save(survey)
        run("qr", survey, "--url", url, "-o", tmp_path / "poster.png")
        image = images.imread(tmp_path / "poster.png")
        grey = np.ascontiguousarray(image.reshape(image.shape[:2]) * 255, dtype=np.uint8)
        (code,) = zxingcpp.read_barcodes(grey)
        assert code.text.startswith(f"{url}/{page}")


@needs_segno
def test_what_is_no_address_or_picture_is_refused(survey, tmp_path):
    wrong = ["example.org", "ftp://example.org", "https://", "https://[", "https://a.org/?x=1"]
    for url in [*wrong, "https://me:secret@a.org", "https://a.org/#top"]:
        assert "expected the address of a collector" in refused(
            "qr", survey, "--url", url, "-o", tmp_path / "poster.svg"
        )
    assert ".svg" in refused("qr", survey, "--url", "https://a.org", "-o", tmp_path / "poster.pdf")
    long = "https://a.org/" + "x" * 3000
    assert "too long" in refused("qr", survey, "--url", long, "-o", tmp_path / "poster.svg")
    assert not (tmp_path / "poster.svg").exists()


def test_init_gives_a_name(tmp_path):
    out, levels = tmp_path / "s.json", ("--epsilon", "-l", "a=1", "-l", "b=4", "--force")

    def made(*options):
        return run_json("init", out, *options, *levels)["survey"].get("name")

    assert made("-a", "yes,no", "-q", "Rauchen Sie täglich?") == "rauchen-sie-taglich"
    assert made("-a", "yes,no", "-q", "Do you smoke?", "--title", "Habits") == "habits"
    assert made("-a", "yes,no", "-q", "Do you smoke?", "--name", "smoking-2026") == "smoking-2026"
    assert made("-a", "yes,no") is None
    assert (
        made("--ask", "age=0..9", "--ask", "commute=car,bus", "--title", "Our town") == "our-town"
    )
    assert len(made("-a", "yes,no", "-q", "Do you think " * 20)) <= 40
    assert "name='A b'" in refused("init", out, "-a", "yes,no", "--name", "A b", *levels)
