"""Everyone picks a mechanism, only noisy reports leave, and the distribution comes back.

Two surveys: ages on a line, and places on a city grid. For each it prints what people chose, what
they were promised and what they gave up, and then how well each method recovers the truth.
"""

import numpy as np

import freewill as fw

PEOPLE = 100_000


def main() -> None:
    """Run both surveys with a fixed seed."""
    rng = np.random.default_rng(2026)
    ages = fw.Linear(0, 99)
    survey(
        "Ages 0 to 99",
        ages,
        age_pyramid(ages),
        {
            fw.KRR(ages, epsilon=3.0): 0.20,
            fw.KRR(ages, epsilon=5.0): 0.15,
            fw.Geometric(ages, epsilon=0.05): 0.25,
            fw.calibrate(fw.Geometric, ages, quality_loss=4.0): 0.20,
            fw.RAPPOR(ages, epsilon=2.0): 0.15,
            fw.Identity(ages): 0.05,
        },
        rng,
    )
    city = fw.Grid(columns=24, rows=16, cell=0.5)
    survey(
        "Places in a made-up city, 24 x 16 cells of 0.5 km",
        city,
        made_up_city(city),
        {
            fw.PlanarGeometric(city, epsilon=0.3): 0.30,
            fw.PlanarGeometric(city, epsilon=1.0): 0.25,
            fw.calibrate(fw.PlanarGeometric, city, quality_loss=0.5): 0.15,
            fw.KRR(city, epsilon=4.0): 0.20,
            fw.KRR(city, epsilon=6.0): 0.10,
        },
        rng,
    )


def survey(
    title: str,
    alphabet: fw.Alphabet,
    truth: np.ndarray,
    shares: dict[fw.Mechanism, float],
    rng: np.random.Generator,
) -> None:
    """Let people choose, collect their reports and print two tables."""
    print(f"\n{title}: {PEOPLE:,} people choose freely\n")
    mechanisms = list(shares)
    values = rng.choice(alphabet.size, size=PEOPLE, p=truth)
    choices = rng.choice(len(mechanisms), size=PEOPLE, p=list(shares.values()))
    reports = [
        (mechanism, mechanism.obfuscate(values[choices == number], rng))
        for number, mechanism in enumerate(mechanisms)
    ]
    unit = "km" if isinstance(alphabet, fw.Grid) else "years"
    table(
        ["mechanism", "people", "promise", "holds", f"loss ({unit})"],
        [
            [
                f"{mechanism.name}",
                f"{len(sent):,}",
                str(mechanism.guarantee()),
                "yes" if fw.audit(mechanism).holds else "NO",
                loss(mechanism, truth),
            ]
            for mechanism, sent in reports
        ],
    )
    evidence = fw.collect(reports)
    symbols = fw.collect([pair for pair in reports if pair[0].name != "rappor"])
    estimates = {
        "GIBU, all reports": fw.gibu(evidence),
        "[IBU]M, value reports only": fw.combine_mechanisms(symbols, fw.ibu),
        "[INV]M, value reports only": fw.combine_mechanisms(symbols, fw.inversion),
        "[INV]R, value reports only": fw.combine_results(symbols, fw.inversion),
    }
    print()
    table(
        ["method", f"error: EMD ({unit})", "gap to the optimum", "status", "seconds"],
        [
            [
                name,
                f"{fw.emd(estimate.theta, truth, alphabet):.3f}",
                f"{estimate.gap:.1e}",
                str(estimate.status),
                f"{estimate.seconds:.3f}",
            ]
            for name, estimate in estimates.items()
        ],
    )


def loss(mechanism: fw.Mechanism, prior: np.ndarray) -> str:
    """Return the expected distance between a person's value and their report, where it has one."""
    try:
        return f"{mechanism.quality_loss(prior):.2f}"
    except fw.LawError:
        return "(bits)"


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


def table(heads: list[str], rows: list[list[str]]) -> None:
    """Print aligned columns, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, ["-" * width for width in widths], *rows]:
        first, *others = row
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *cells]))


if __name__ == "__main__":
    main()
