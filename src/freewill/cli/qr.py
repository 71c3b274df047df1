"""`freewill qr`: the address of a survey as a code to print."""

from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.options import AsJson, load_survey, option
from freewill.cli.show import remark, say, say_json
from freewill.cli.standard import check_target
from freewill.collector.qr import page_address, write_qr


def qr(
    survey: Annotated[Path, typer.Argument(help="The survey file, .json or .toml.")],
    url: Annotated[str, option("The address of the collector, such as https://example.org.")],
    out: Annotated[Path, option("The picture to write, .svg or .png.", "--out", "-o")],
    as_json: AsJson = False,
) -> None:
    """Write the address at which people answer a survey as a QR code, for posters and letters.

    A survey with a `name` keeps its address when its texts are corrected, and in later rounds; the
    address of a survey without a name contains its id. Requires `freewill[serve]`.

    Example:

        freewill qr survey.json --url https://example.org --out poster.svg
    """
    check_target(out, (".svg", ".png"), "a picture", [survey])
    offered = load_survey(survey)
    address = page_address(url, offered)
    write_qr(address, out)
    if not offered.name:
        remark("the survey has no name: with other mechanisms it has another address.")
    if as_json:
        say_json({"out": str(out), "address": address})
        return
    say(f"{address}\nQR code written to {out}")
