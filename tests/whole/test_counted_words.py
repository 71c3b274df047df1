"""A number and its noun agree, everywhere: 1 person, 2 people."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freewill as fw
from freewill.errors import noun, several

SOURCES = sorted(Path(fw.__file__).parent.rglob("*.py"))
ALONE = re.compile(r"(?<![\d,.^])1 (people|[a-z]+(?<!s)s)\b")


def parsed():
    """Return the calls of all sources and the texts with values in them, each with its file."""
    return [
        (path, node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call | ast.JoinedStr)
    ]


def counted(nodes):
    """Return the plurals of all nouns that `several` and `noun` are called with."""
    calls = (node for _, node in nodes if isinstance(node, ast.Call) and len(node.args) == 2)
    named = (call for call in calls if getattr(call.func, "id", "") in ("several", "noun"))
    texts = (part for call in named for part in ast.walk(call.args[1]))
    words = {node.value for node in texts if isinstance(node, ast.Constant)}
    return {noun(2, word) for word in words}


def bare(node, words):
    """Yield what a text with values in it says where a value meets a plural and no one asks."""
    for before, value, after in zip(
        [None, *node.values], node.values, node.values[1:], strict=False
    ):
        if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
            continue
        found = re.match(rf" ({'|'.join(sorted(words))})\b", after.value)
        if not found:
            continue
        code = ast.unparse(value.value)
        # What came, as it came; and measures, of which 1.0 has the plural.
        other = value.conversion != -1 or re.search(
            "[gf]'$", ast.unparse(value.format_spec or node)
        )
        sides = isinstance(before, ast.Constant) and before.value.endswith(" x ")
        if not (code.isupper() or code.endswith(".name") or other or sides):
            yield f"{code} {found[1]}"


def test_no_message_puts_a_plural_behind_a_number_by_itself():
    nodes = parsed()
    words = counted(nodes)
    assert {"people", "rows", "distinct outputs"} <= words
    found = [
        f"{path.name}:{node.lineno}: {what}"
        for path, node in nodes
        if isinstance(node, ast.JoinedStr)
        for what in bare(node, words)
    ]
    assert not found


@given(st.integers(0, 10**6), st.sampled_from(["person", "row", "distinct output"]))
def test_only_one_is_singular(many, what):
    assert (several(many, what) == f"1 {what}") == (many == 1)
    assert several(many, what).split()[0].replace(",", "") == str(many)


@pytest.mark.parametrize(
    "mechanism",
    [
        fw.KRR(fw.Linear(0, 1), 1.0),
        fw.RAPPOR(fw.Linear(0, 99), 1.0),
        fw.Identity(fw.Categorical(["only"])),
        fw.Matrix(fw.Linear(0, 1), [[1.0], [1.0]]),
    ],
    ids=str,
)
def test_one_person_is_no_people(mechanism):
    evidence = fw.collect([(mechanism, mechanism.obfuscate(np.array([0])))])
    shown = [str(evidence), str(evidence.groups[0]), str(fw.gibu(evidence)), str(mechanism)]
    shown += [str(fw.em(evidence, max_steps=1)), str(mechanism.alphabet)]
    assert "1 person, 1 mechanism" in shown[0]
    for text in shown:
        assert not ALONE.search(text), text


def test_the_columns_of_evidence_stay_in_line():
    line = fw.Linear(0, 9)
    both = fw.collect([(fw.KRR(line, 1.0), [3, 3, 4]), (fw.Geometric(line, 0.5), [2])])
    places = {
        text.index(name)
        for text in str(both).splitlines()[1:]
        for name in ("k-rr", "geometric")
        if name in text
    }
    assert len(places) == 1
