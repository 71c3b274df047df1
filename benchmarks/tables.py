"""Tables of people with several attributes: the Adult census extract, a file, and visitors.

The page on several attributes of multi-freq-ldpy's tutorial reads MS-FIMU: 88,935 people with 6
attributes of 3, 8, 12, 3, 37 and 11 values. `of_file` reads that table, where somebody has it;
`visitors` stands in for it, in its shape. `adult` reads what UCI publishes, and prepares it as the
tutorial does.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import freewill as fw

_ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "salary",
]
_CENSUS = [
    "age",
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
    "salary",
]
_VISITORS = {
    "gender": 3,
    "age": 8,
    "geolife": 12,
    "category": 3,
    "region": 37,
    "sleeping": 11,
}
_PEOPLE = 88_935


@dataclass(frozen=True)
class Table:
    """People in rows, attributes in columns: indices into the labels of the attribute."""

    name: str
    labels: dict[str, tuple[str, ...]]
    values: np.ndarray

    @property
    def sizes(self) -> list[int]:
        """How many values each attribute has."""
        return [len(labels) for labels in self.labels.values()]

    @property
    def alphabets(self) -> dict[str, fw.Alphabet]:
        """An alphabet an attribute: a line where all labels are numbers without a gap."""
        return {name: _alphabet(labels) for name, labels in self.labels.items()}

    def frequencies(self) -> list[np.ndarray]:
        """Return the shares of each attribute's values."""
        columns = zip(self.values.T, self.sizes, strict=True)
        return [np.bincount(column, minlength=size) / column.size for column, size in columns]

    def __getitem__(self, names: Sequence[str]) -> "Table":
        places = [list(self.labels).index(name) for name in names]
        labels = {name: self.labels[name] for name in names}
        return Table(self.name, labels, self.values[:, places])


def adult(folder: Path, names: Sequence[str] = _CENSUS) -> Table:
    """Return the people of adult.data and adult.test of whom nothing is missing."""
    people: list[list[str]] = []
    for file in ("adult.data", "adult.test"):
        for line in (folder / file).read_text().splitlines():
            fields = [field.strip().rstrip(".") for field in line.split(",")]
            if len(fields) == len(_ADULT) and "?" not in fields:
                people.append(fields)
    return _coded("Adult", list(_ADULT), people)[names]


def of_file(path: Path) -> Table:
    """Return the people of a csv file, whose first line names the attributes."""
    with path.open(newline="") as file:
        head, *people = csv.reader(file)
    return _coded(path.stem, head, people)


def visitors(seed: int = 2017) -> Table:
    """Return people in the shape of MS-FIMU, whose other attributes depend on their category.

    Category c = 0, 1, 2 has shares .2, .5, .3, and value v of an attribute of k values a share
    within the category in proportion to 1 / (1 + (v - c floor(k / 3)) mod k).
    """
    rng = np.random.default_rng(seed)
    category = rng.choice(3, _PEOPLE, p=(0.2, 0.5, 0.3))
    columns = []
    for name, size in _VISITORS.items():
        ranks = (np.arange(size) - np.arange(3)[:, None] * (size // 3)) % size
        within = np.cumsum(1 / (1 + ranks), axis=1)
        within /= within[:, -1:]
        drawn = (rng.random(_PEOPLE)[:, None] > within[category]).sum(axis=1)
        columns.append(category if name == "category" else drawn)
    labels = {name: tuple(map("value {}".format, range(k))) for name, k in _VISITORS.items()}
    return Table("visitors", labels, np.stack(columns, axis=1))


def commuters(counts: Path, seed: int = 2017) -> Table:
    """Return people of the ages in a csv file of counts, and how they commute, which depends on it.

    The file has a column `age` and columns of counts. Of five ways to commute, way c = 0, ..., 4
    has a share at an age in proportion to exp(-((age - 20 - 15 c) / 15)^2).
    """
    with counts.open(newline="") as file:
        lines = [{name: int(text) for name, text in line.items()} for line in csv.DictReader(file)]
    ages = np.repeat(
        [line["age"] for line in lines], [sum(line.values()) - line["age"] for line in lines]
    )
    shares = np.exp(-(((ages[:, None] - 20 - 15 * np.arange(5)) / 15) ** 2))
    within = np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1)
    ways = (np.random.default_rng(seed).random(ages.size)[:, None] > within).sum(axis=1)
    years = range(ages.min(), ages.max() + 1)
    labels = {"age": tuple(map(str, years)), "commute": ("bicycle", "tram", "car", "bus", "foot")}
    return Table("commuters", labels, np.stack([ages - ages.min(), np.minimum(ways, 4)], axis=1))


def _coded(name: str, head: list[str], people: list[list[str]]) -> Table:
    """Number the labels of each column, in their order."""
    labels, columns = {}, []
    names = [attribute.lower().replace("-", "_").replace(" ", "_") for attribute in head]
    for attribute, column in zip(names, np.array(people).T, strict=True):
        own = sorted(set(column.tolist()), key=lambda label: (_whole(label), label))
        codes = {label: code for code, label in enumerate(own)}
        labels[attribute] = tuple(own)
        columns.append([codes[label] for label in column.tolist()])
    return Table(name, labels, np.array(columns).T)


def _whole(label: str) -> float:
    return int(label) if label.isdigit() else np.inf


def _alphabet(labels: tuple[str, ...]) -> fw.Alphabet:
    if all(map(str.isdigit, labels)):
        low, high = int(labels[0]), int(labels[-1])
        if high - low + 1 == len(labels):
            return fw.Linear(low, high)
    return fw.Categorical(list(labels))
