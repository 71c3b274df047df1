"""The id of a survey, which is a hash of its description, and how its reports lie in a store."""

import hashlib
import json
from typing import Any

import numpy as np

from freewill.core.types import Reports
from freewill.device.explain import explain
from freewill.domain.mechanisms.base import Mechanism
from freewill.domain.survey import Survey


def canonical(survey: Survey) -> str:
    """Return the description of a survey in one spelling: equal surveys, equal texts.

    It has all laws that are solved for: of several that are optimal, reports follow one.
    """
    whole = survey.for_devices()
    return json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)


def given_out(survey: Survey) -> bytes:
    """Return a survey as devices are given it: in its own order, with all laws that are solved for.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 1)
    >>> offered = {"z": fw.KRR(line, 1.0), "a": fw.Shokri(line, 0.25)}
    >>> told = json.loads(given_out(fw.Survey(line, offered)))
    >>> list(told["mechanisms"]), list(told["tables"])
    (['z', 'a'], ['a'])
    """
    return json.dumps(survey.for_devices(), separators=(",", ":"), allow_nan=False).encode()


def explained(survey: Survey) -> bytes:
    """Return what the page says of each choice beside its promise: numbers and a picture."""
    choices = explain(survey).for_devices()
    return json.dumps(choices, separators=(",", ":"), allow_nan=False).encode()


def survey_id(survey: Survey) -> str:
    """Return the name of a survey, the same on every machine: 128 bits of a hash of all of it.

    >>> import freewill as fw
    >>> line = fw.Linear(0, 9)
    >>> one = fw.Survey(line, {"a": fw.KRR(line, 1.0), "b": fw.KRR(line, 2.0)})
    >>> other = fw.Survey(line, {"b": fw.KRR(line, 2.0), "a": fw.KRR(line, 1.0)})
    >>> survey_id(one) == survey_id(other), len(survey_id(one))
    (True, 32)
    """
    return hashlib.sha256(canonical(survey).encode()).hexdigest()[:32]


def row_width(mechanism: Mechanism) -> int:
    """Return how many bytes a report of a mechanism takes in a store.

    >>> import freewill as fw
    >>> row_width(fw.RAPPOR(fw.Linear(0, 99), 1.0)), row_width(fw.KRR(fw.Linear(0, 99), 1.0))
    (13, 8)
    """
    empty = mechanism.output_space.empty()
    return empty.itemsize * int(np.prod(empty.shape[1:], dtype=np.int64))


def to_bytes(outputs: Reports) -> list[bytes]:
    """Return outputs as a store keeps them: the bytes of each, the lowest first."""
    rows = np.ascontiguousarray(outputs, dtype=outputs.dtype.newbyteorder("<"))
    width = rows.itemsize * int(np.prod(rows.shape[1:], dtype=np.int64))
    content = rows.tobytes()
    return [content[start : start + width] for start in range(0, len(content), width)]


def from_bytes(content: bytes, mechanism: Mechanism) -> Reports:
    """Return the outputs of a mechanism that lie one behind the other.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> from_bytes(b"".join(to_bytes(np.array([1, 0]))), coin)
    array([1, 0])
    """
    empty = mechanism.output_space.empty()
    flat: Any = np.frombuffer(content, dtype=empty.dtype.newbyteorder("<"))
    outputs: Reports = flat.astype(empty.dtype, copy=False).reshape(-1, *empty.shape[1:])
    return outputs
