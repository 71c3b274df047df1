"""`freewill periods`: by which days a collector's store keeps a survey's reports apart."""

from typing import Annotated

import typer

from freewill.cli.inputs import survey_in_store
from freewill.cli.options import AsJson, StoredSurveyPath
from freewill.cli.show import say, say_json, table
from freewill.collector.reading import periods_in
from freewill.collector.surveys import day_before
from freewill.errors import several


def periods(
    store: Annotated[
        str, typer.Argument(help="The store of `freewill serve` (.db, postgresql://).")
    ],
    survey: StoredSurveyPath,
    as_json: AsJson = False,
) -> None:
    """List the periods of a survey in a store, with how many people answered in each.

    A store counts by days, weeks or months, as the survey says (`period`). A period that would end
    with fewer than 100 people continues into the next one. `freewill collect --period` collects one
    or more periods.

    Example:

        freewill periods collector.db --survey commute
    """
    own, spans = periods_in(store, survey_in_store(survey))
    if as_json:
        listed = [{"start": start, "end": end, "people": many} for start, end, many in spans]
        say_json({"survey": own, "periods": listed})
        return
    everyone = several(sum(many for _, _, many in spans), "person")
    say(f"survey {own}, {everyone}, {several(len(spans), 'period')}\n")
    rows = [
        [start, day_before(end) if end else "goes on", f"{many:,}"] for start, end, many in spans
    ]
    table(["first day", "last day", "people"], rows, numbers=(2,))
