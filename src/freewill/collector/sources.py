"""What estimates are made of: what is stored now, or what was published last (`releases.py`)."""

from dataclasses import dataclass
from typing import Any, Protocol

from freewill.collector.database import Reader
from freewill.collector.store import Store
from freewill.collector.surveys import StoredSurvey
from freewill.stats.fit import Fit, fit


class Source(Protocol):
    """Surveys with the reports that an estimate is of, and what is shown of the answers."""

    @property
    def store(self) -> Store:
        """Where the reports lie."""

    @property
    def exact(self) -> bool:
        """Whether counts are those of the reports, without noise of their own."""

    def survey(self, view: Reader, key: str) -> StoredSurvey:
        """Return a survey, by its id or name, with the reports that may be seen.

        Refuse one that may not be yet.
        """

    def fit(self, evidence: Any, start: Any) -> Fit:
        """Fit a distribution to these reports."""

    def people(self, many: int) -> int:
        """Return a number of people as it is shown."""

    def shown(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return an answer as it is shown, with "live": whether it follows every report."""


@dataclass(frozen=True)
class Live:
    """Everything that is stored now, for those who may see it."""

    store: Store
    exact: bool = True

    def survey(self, view: Reader, key: str) -> StoredSurvey:
        """Return a survey as it is stored."""
        return self.store.survey(view, key)

    def fit(self, evidence: Any, start: Any) -> Fit:
        """Fit a distribution to everything."""
        return fit(evidence, start=start)

    def people(self, many: int) -> int:
        """Return the number as it is."""
        return many

    def shown(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the answer as it is; it is not for publication."""
        return {**document, "live": True}
