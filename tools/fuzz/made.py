"""Every kind of mechanism, made with arguments that are right, to be replaced by hostile ones."""

from typing import Any

import numpy as np

import freewill as fw
from tools.fuzz.goods import ANY, CITY, LAWS, LINE, LOSS, MENU_OF_TWO, RECORDS, SOME, THETA


def _asked(mechanism: Any) -> Any:
    """Ask four people."""
    return fw.collect([(mechanism, mechanism.obfuscate([0, 1, 1, 3], np.random.default_rng(0)))])


def _sent_both(one: Any, other: Any) -> fw.Both:
    return fw.Both(one, other)


def _each(alphabet: Any, a: Any, b: Any) -> fw.Each:
    return fw.Each(alphabet, a=a, b=b)


def _one_of(alphabet: Any, a: Any, b: Any) -> fw.OneOf:
    return fw.OneOf(alphabet, a=a, b=b)


def _offered(alphabet: Any, a: Any, b: Any) -> fw.Asked:
    return fw.Asked(alphabet, a=a, b=b)


_ANSWERS = {"alphabet": RECORDS, "a": fw.KRR(LINE, 1.0), "b": fw.KRR(MENU_OF_TWO, 1.0)}
_OFFERS = {"alphabet": RECORDS, "a": {"k": fw.KRR(LINE, 1.0)}, "b": {"no": fw.Silent()}}
_LINE_LAWS = {"alphabet": LINE, "epsilon": 1.0}
MADE: dict[str, tuple[Any, dict[str, Any]]] = {
    "KRR": (fw.KRR, LAWS),
    "RAPPOR": (fw.RAPPOR, LAWS),
    "Unary": (fw.Unary, {"alphabet": SOME, "p": 0.5, "q": 0.25}),
    "OUE": (fw.OUE, LAWS),
    "THE": (fw.THE, {**LAWS, "threshold": None}),
    "LocalHashing": (fw.LocalHashing, {**LAWS, "buckets": None}),
    "BLH": (fw.BLH, LAWS),
    "SubsetSelection": (fw.SubsetSelection, {**LAWS, "length": None}),
    "HadamardResponse": (fw.HadamardResponse, {**LAWS, "blocks": 1}),
    "LongitudinalKRR": (fw.LongitudinalKRR, {**LAWS, "epsilon_inf": 3.0}),
    "LongitudinalUnary": (
        fw.LongitudinalUnary,
        {**LAWS, "epsilon_inf": 3.0, "protocol": "L-SUE"},
    ),
    "BloomRAPPOR": (
        fw.BloomRAPPOR,
        {
            "alphabet": SOME,
            "bits": 8,
            "hashes": 2,
            "cohorts": 4,
            "f": 0.5,
            "p": 0.25,
            "q": 0.75,
            "hash": "md5",
        },
    ),
    "Repeated": (fw.Repeated, {"mechanism": fw.KRR(LINE, 1.0), "times": 3}),
    "Family": (
        fw.Family,
        {"kind": fw.KRR, "alphabet": SOME, "epsilon": (0.5, 2.0), "step": None, "held": None},
    ),
    "Geometric": (fw.Geometric, LAWS),
    "PlanarGeometric": (fw.PlanarGeometric, {"alphabet": CITY, "epsilon": 1.0}),
    "Identity": (fw.Identity, {"alphabet": SOME}),
    "Matrix": (fw.Matrix, {"alphabet": LINE, "law": np.eye(4), "outputs": None}),
    "Shokri": (
        fw.Shokri,
        {
            "alphabet": LINE,
            "quality_loss": 0.5,
            "selection": "max-entropy",
            "prior": THETA,
            "report_loss": LOSS,
            "guess_loss": LOSS,
        },
    ),
    "Exponential": (fw.Exponential, LAWS),
    "PlanarLaplace": (fw.PlanarLaplace, {"alphabet": CITY, "epsilon": 1.0}),
    "Staircase": (fw.Staircase, {**_LINE_LAWS, "gamma": None}),
    "SquareWave": (fw.SquareWave, {**_LINE_LAWS, "reach": None}),
    "BlahutArimoto": (fw.BlahutArimoto, {"alphabet": LINE, "beta": 1.0, "prior": THETA}),
    "BlahutArimoto by its loss": (fw.BlahutArimoto, {"alphabet": LINE, "quality_loss": 0.5}),
    "OptimalGeo": (fw.OptimalGeo, {**_LINE_LAWS, "prior": THETA}),
    "Then": (fw.Then, {"inner": fw.KRR(LINE, 1.0), "map": [0, 1, 1, 0], "outputs": None}),
    "Then by chance": (fw.Then, {"inner": fw.KRR(LINE, 1.0), "map": np.eye(4)}),
    "Both": (
        _sent_both,
        {"one": fw.KRR(LINE, 1.0), "other": fw.Geometric(LINE, 1.0)},
    ),
    "Silent": (fw.Silent, {"alphabet": SOME}),
    "Each": (_each, _ANSWERS),
    "OneOf": (_one_of, _ANSWERS),
    "Asked": (_offered, _OFFERS),
    "Perhaps": (fw.Perhaps, {"inner": ANY, "chance": 0.5}),
    "leakage": (fw.leakage, {"mechanism": ANY, "prior": THETA, "gain": np.eye(4)}),
    "privic": (
        fw.privic,
        {"alphabet": LINE, "collect": _asked, "beta": 1.0, "rounds": 2, "prior": THETA},
    ),
}
