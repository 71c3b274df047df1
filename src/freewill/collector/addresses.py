"""Which survey an address means: by its id, its name, or an id under which it was served before."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from freewill.collector.answers import RefusedError
from freewill.collector.intake import Intake
from freewill.collector.periods import EVER, Days
from freewill.collector.records import intake_of
from freewill.collector.store import Store
from freewill.domain.survey import Survey


class Found(NamedTuple):
    """A survey that is served, and what was asked for: an id is one round, a name all of them."""

    intake: Intake
    key: str

    def file_name(self, days: Days) -> str:
        """Return what a file is called that holds what came on some days."""
        of_days = "" if days == EVER else f"-{days}".replace("..", "-")
        return f"{self.key}{of_days}".rstrip("-")


@dataclass(frozen=True)
class Addresses:
    """The surveys that are served, and where each of their pages is."""

    served: Mapping[str, Intake]
    """By their ids."""
    named: Mapping[str, str]
    """The ids by the names; of several rounds, of the last one."""
    moved: Mapping[str, str]
    """The ids by those under which older versions served them."""
    earlier: Mapping[str, Intake]
    """The earlier rounds of what is served, by their ids: what was drawn for one still counts."""

    def found(self, key: str) -> Found:
        """Return the survey that an id or a name means; an earlier round by its id alone."""
        own = self.named.get(key, self.moved.get(key, key))
        intake = self.served.get(own) or self.earlier.get(own)
        if intake is None:
            raise unknown_survey(key)
        return Found(intake, key if key in self.named else own)

    def intake(self, key: str) -> Intake:
        """Return what takes reports for an id or a name."""
        return self.found(key).intake

    def asked_now(self, found: Found) -> Intake:
        """Return the intake of a survey that people are asked to answer; no earlier round is."""
        if found.intake.id in self.earlier:
            raise RefusedError(
                404,
                f"survey {found.intake.id} is an earlier round of {found.intake.survey.name!r}",
                f"GET /v1/surveys/{found.intake.survey.name} is what people are asked now. What "
                f"was drawn for this one is still taken in, and what came is still told.",
            )
        return found.intake

    def page(self, own: str) -> str:
        """Return where people answer a survey, behind the address of the collector."""
        name = self.found(own).intake.survey.name
        return f"s/{name}" if name else f"surveys/{own}"

    def page_now(self, key: str) -> str:
        """Return where the page of a survey is now, if it was under another id; else nothing."""
        own = key if key in self.earlier else self.moved.get(key)
        return self.page(own) if own else ""


def addresses_of(store: Store, surveys: Iterable[Survey], *, mended: bool = False) -> Addresses:
    """Take surveys into a store, and return where they are found."""
    served = {}
    for survey in surveys:
        served[survey.id] = intake_of(survey, store.add(survey, mended=mended))
    named = {intake.survey.name: own for own, intake in served.items() if intake.survey.name}
    earlier = {
        before.id: intake_of(before, numbers)
        for own in named.values()
        for before, numbers in store.earlier_rounds(own)
        if before.id not in served
    }
    moved = {old: own for old, own in store.aliases().items() if own in served}
    return Addresses(served, named, moved, earlier)


def unknown_survey(name: str) -> RefusedError:
    """Return the refusal of a survey that is not served here."""
    return RefusedError(
        404,
        f"survey {name!r:.80} is not collected here",
        "GET /v1/surveys has those that are. The id is a hash of the values and mechanisms on "
        "offer: with others, it is another one.",
    )
