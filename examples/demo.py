"""The whole job: people choose mechanisms, noisy reports leave, the distribution comes back.

Two surveys of 200,000 people: ages on a line and places on a city grid. Every kind of mechanism is
on offer in each. The reports go to a Parquet file and are read back from it; then it prints what
people were promised and what they gave up, how well each method recovers the truth, and where the
pictures are.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import freewill as fw
from freewill.domain.survey import Survey
from freewill.io.reading import read
from freewill.io.writing import write_reports
from freewill.present import plots

PEOPLE = 200_000
OUT = Path("out")


def main() -> None:
    """Run both surveys, with other people every time."""
    OUT.mkdir(exist_ok=True)
    rng = np.random.default_rng()
    ages = fw.Linear(0, 99)
    run(
        "ages",
        "Ages",
        age_pyramid(ages),
        ages,
        {
            "k-rr": (fw.KRR(ages, epsilon=3.0), 0.20),
            "k-rr, relaxed": (fw.KRR(ages, epsilon=5.0), 0.10),
            "geometric": (fw.Geometric(ages, epsilon=0.05), 0.25),
            "geometric, 4 years": (fw.calibrate(fw.Geometric, ages, quality_loss=4.0), 0.15),
            "rappor": (fw.RAPPOR(ages, epsilon=2.0), 0.10),
            "shokri": (fw.Shokri(ages, quality_loss=8.0), 0.10),
            "decade": (fw.Matrix(ages, roughly(ages.positions // 10)), 0.08),
            "open": (fw.Identity(ages), 0.02),
        },
        rng,
    )
    city = fw.Grid(columns=24, rows=16, cell=0.5)
    east, north = city.positions.T // 2
    run(
        "city",
        "A made-up city",
        made_up_city(city),
        city,
        {
            "k-rr": (fw.KRR(city, epsilon=5.0), 0.20),
            "planar": (fw.PlanarGeometric(city, epsilon=0.5), 0.28),
            "planar, 500 m": (fw.calibrate(fw.PlanarGeometric, city, quality_loss=0.5), 0.20),
            "rappor": (fw.RAPPOR(city, epsilon=3.0), 0.03),
            "shokri": (fw.Shokri(city, quality_loss=1.0), 0.12),
            "district": (fw.Matrix(city, roughly(6 * north + east)), 0.12),
            "open": (fw.Identity(city), 0.05),
        },
        rng,
    )


def run(
    name: str,
    title: str,
    truth: np.ndarray,
    alphabet: fw.Linear | fw.Grid,
    choices: Mapping[str, tuple[fw.Mechanism, float]],
    rng: np.random.Generator,
) -> None:
    """Let people choose and report, read the reports back, estimate, print and draw."""
    unit = "km" if isinstance(alphabet, fw.Grid) else "years"
    print(f"\n{title} ({alphabet}): {PEOPLE:,} people choose freely\n")
    survey = Survey(alphabet, {key: mechanism for key, (mechanism, _) in choices.items()})
    values = rng.choice(alphabet.size, size=PEOPLE, p=truth)
    chosen = rng.choice(len(choices), size=PEOPLE, p=[share for _, share in choices.values()])
    survey.save(OUT / f"{name}.survey.json")
    reports = OUT / f"{name}.reports.parquet"
    write_reports(
        reports,
        [
            (key, mechanism.obfuscate(values[chosen == number]))
            for number, (key, (mechanism, _)) in enumerate(choices.items())
        ],
    )
    reading = read(reports, survey)
    print_promises(survey, reading.evidence, truth, unit)
    invalid = sum(kind.count for kind in reading.invalid)
    size = reports.stat().st_size / 1e6
    print(f"\n{reading.rows:,} reports read from {reports} ({size:.1f} MB), {invalid} invalid\n")
    estimates = estimate(reading.evidence)
    print_errors(estimates, np.bincount(values, minlength=alphabet.size), truth, alphabet, unit)
    best = {"GIBU": estimates["GIBU"][1].theta, "[INV]M": estimates["[INV]M"][1].theta}
    path = OUT / f"{name}.png"
    plots.picture(
        alphabet,
        best,
        truth,
        path=path,
        title=f"{title}: {PEOPLE:,} people chose among {len(choices)} mechanisms",
        unit="age (years)",
    )
    print(f"\npicture: {path}")


def estimate(evidence: fw.Evidence) -> dict[str, tuple[fw.Evidence, fw.Estimate]]:
    """Apply each method to all the reports that it can use, and GIBU to [IBU]M's as well."""
    plain = only(evidence, "k-rr", "geometric", "planar-geometric", "identity")
    bits = only(evidence, "rappor")
    return {
        "GIBU": (evidence, fw.gibu(evidence)),
        "GIBU, as [IBU]M": (plain, fw.gibu(plain)),
        "[IBU]M": (plain, fw.combine_mechanisms(plain, fw.ibu)),
        "[INV]M": (plain, fw.combine_mechanisms(plain, fw.inversion)),
        "[INV]R": (plain, fw.combine_results(plain, fw.inversion)),
        "RAP": (bits, fw.debias(bits)),
    }


def only(evidence: fw.Evidence, *kinds: str) -> fw.Evidence:
    """Keep the reports of some kinds of mechanisms."""
    kept = tuple(group for group in evidence.groups if group.mechanism.name in kinds)
    return fw.Evidence(evidence.alphabet, kept)


def print_promises(survey: Survey, evidence: fw.Evidence, truth: np.ndarray, unit: str) -> None:
    """Print what people chose, what that promises, and what it costs them."""
    people = {group.mechanism.id: group.people for group in evidence.groups}
    print_table(
        ["choice", "mechanism", "people", "promise", "holds", f"loss ({unit})"],
        [
            [
                key,
                mechanism.name,
                f"{people[mechanism.id]:,}",
                promise(mechanism.guarantee(), unit),
                "yes" if fw.audit(mechanism).holds else "NO",
                loss(mechanism, truth),
            ]
            for key, mechanism in survey.mechanisms.items()
        ],
    )


def print_errors(
    estimates: Mapping[str, tuple[fw.Evidence, fw.Estimate]],
    counts: np.ndarray,
    truth: np.ndarray,
    alphabet: fw.Alphabet,
    unit: str,
) -> None:
    """Print how far each estimate is from the truth, and the true values' own counts last."""
    floor = fw.emd(counts, truth, alphabet)
    print_table(
        [
            "method",
            "reports used",
            f"error: EMD ({unit})",
            "gap to the optimum",
            "status",
            "seconds",
        ],
        [
            *(
                [
                    name,
                    f"{evidence.people:,}",
                    f"{fw.emd(found.theta, truth, alphabet):.3f}",
                    f"{found.gap:.1e}",
                    str(found.status),
                    f"{found.seconds:.2f}",
                ]
                for name, (evidence, found) in estimates.items()
            ),
            ["(no privacy at all)", f"{counts.sum():,}", f"{floor:.3f}", "", "", ""],
        ],
    )


def promise(guarantee: fw.Guarantee | fw.AdversaryLoss, unit: str) -> str:
    """Return a promise in a few words."""
    if isinstance(guarantee, fw.AdversaryLoss):
        return f"adversary loses {guarantee.adversary_loss:.3g} {unit}"
    return str(guarantee)


def loss(mechanism: fw.Mechanism, prior: np.ndarray) -> str:
    """Return the expected distance between a person's value and their report, where it has one."""
    try:
        return f"{mechanism.quality_loss(prior):.2f}"
    except fw.LawError:
        return "-"


def roughly(area: np.ndarray, right: float = 0.8) -> np.ndarray:
    """Return a law of one's own making: tell the area of the value, and tell any area otherwise."""
    areas = np.arange(int(area.max()) + 1)
    return right * (area[:, None] == areas) + (1 - right) / areas.size


def age_pyramid(alphabet: fw.Linear) -> np.ndarray:
    """Return a made-up age distribution: two generations and a long tail."""
    ages = alphabet.positions
    weights = (
        np.exp(-(((ages - 35) / 14) ** 2))
        + 0.7 * np.exp(-(((ages - 62) / 9) ** 2))
        + 0.25 * (ages < 85)
    )
    return weights / weights.sum()


def made_up_city(grid: fw.Grid) -> np.ndarray:
    """Return a made-up city: a centre, two districts, a thin spread and water in a corner."""
    east, north = grid.positions.T
    weights = np.full(grid.size, 0.01)
    for x, y, width, mass in ((7.0, 5.0, 0.8, 3.0), (3.0, 3.0, 1.5, 1.0), (9.5, 2.0, 1.0, 1.2)):
        weights += mass * np.exp(-((east - x) ** 2 + (north - y) ** 2) / (2 * width**2))
    weights[(east > 9) & (north > 5.5)] = 0.0
    return weights / weights.sum()


def print_table(heads: list[str], rows: list[list[str]]) -> None:
    """Print aligned columns, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, ["-" * width for width in widths], *rows]:
        first, *others = row
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *cells]))


if __name__ == "__main__":
    main()
