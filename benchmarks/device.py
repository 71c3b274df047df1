"""Draws a second on a person's device: freewill.js in Node and in Chromium, where they are there.

    python -m benchmarks.device
"""

from collections.abc import Iterator

import freewill as fw
from tools.javascript import chromium, in_chromium, in_node, node

_COUNT = 300_000
_WANTED = {"k-rr": 1e6, "planar-geometric": 1e5}
_LINE = fw.Linear(0, 99)
_CITY = fw.Grid(24, 16, cell=0.5)


def surveys() -> list[fw.Survey]:
    """Return what is measured: 100 values on a line, and 384 cells of a city."""
    line = [fw.KRR(_LINE, 1.0), fw.KRR(_LINE, 5.0), fw.RAPPOR(_LINE, 1.0), fw.Geometric(_LINE, 0.05)]
    shokri = fw.Shokri(_LINE, 10.0)
    city = [fw.PlanarGeometric(_CITY, 1.0), fw.PlanarGeometric(_CITY, 0.19)]
    return [
        fw.Survey(_LINE, {str(one): one for one in (*line, shokri)}),
        fw.Survey(_CITY, {str(one): one for one in city}),
    ]


def rows() -> Iterator[tuple[str, str, float, float, str]]:
    """Yield where, what, draws a second in the first round and later, and the verdict."""
    offered = surveys()
    given = {"surveys": [one.for_devices() for one in offered], "count": _COUNT}
    for where, there, run in (("Node", node(), in_node), ("Chromium", chromium(), in_chromium)):
        if not there:
            yield where, "not on this machine", 0.0, 0.0, "skipped"
            continue
        for survey, found in zip(offered, run("speed", given), strict=True):
            for name, row in zip(survey.mechanisms, found, strict=True):
                wanted = _WANTED.get(survey.mechanisms[name].name)
                verdict = "" if wanted is None else f"asked {wanted:,.0f}: "
                verdict += "" if wanted is None else "yes" if row["first"] >= wanted else "NO"
                yield where, name, row["first"], row["later"], verdict


def main() -> None:
    """Print the table; the first round has all set-up, and every chance for the first time."""
    print(f"{'':10}{'mechanism':56}{'first round':>14}{'later':>14}  draws a second")
    for where, name, first, later, verdict in rows():
        print(f"{where:10}{name:56}{first:14,.0f}{later:14,.0f}  {verdict}")


if __name__ == "__main__":
    main()
