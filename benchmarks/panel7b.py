"""Why [INV]M is nearer to the truth than GIBU on panel 7b where people are few.

`python -m benchmarks.panel7b checkins.csv.gz`: for 300, 1,000 and 10,000 people on ten k-RR in a
city, mean EMD, total variation and cells with a share of each method, over 20 seeds.
"""

import sys

import numpy as np

import freewill as fw
from freewill.paper.mixtures import MIXTURES
from freewill.paper.panels import GIBU, INV_M
from freewill.paper.places import load
from freewill.paper.runner import Sample
from freewill.paper.settings import settings

SEEDS = 20
LEAST = 1e-9
"""Shares below which a cell counts as empty."""


def main() -> None:
    """Print a row for each number of people and method."""
    (setting,) = settings([MIXTURES["city-krr"]], load(sys.argv[1]))
    print("people  method              EMD  total variation  cells")
    for people in (300, 1_000, 10_000):
        rows: dict[str, list[tuple[float, float, int]]] = {}
        for seed in range(SEEDS):
            evidence, _ = setting.draw(people, seed)
            sample = Sample(evidence)
            thetas = {method.label: sample.run(method).theta for method in (GIBU, INV_M[0])}
            thetas |= {"one_step": fw.one_step(evidence).theta, "smooth": fw.smooth(evidence).theta}
            for name, theta in thetas.items():
                apart = fw.emd(theta, setting.truth, setting.alphabet)
                varied = float(np.abs(theta - setting.truth).sum()) / 2
                rows.setdefault(name, []).append((apart, varied, int((theta > LEAST).sum())))
        for name, own in rows.items():
            emd, variation, cells = np.mean(own, axis=0)
            print(f"{people:6,}  {name:17} {emd:6.3f} {variation:12.3f} {cells:12.0f}", flush=True)


if __name__ == "__main__":
    main()
