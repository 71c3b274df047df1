"""`freewill qr`: the address of a survey as a code to print, for a telephone's camera."""

from pathlib import Path
from typing import Annotated

import typer

from freewill.cli.options import AsJson, load_survey, option
from freewill.cli.show import remark, say, say_json
from freewill.cli.standard import check_target
from freewill.collector.verify import collector_at
from freewill.core.files import whole_file
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, first_line, raised_as, shown

_QUIET = 4
"""Modules of white around it, which ISO 18004 asks for."""
_SCALE = 8
"""Pixels of a module, in PNG."""


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


def page_address(url: str, survey: Survey) -> str:
    """Return where people answer a survey, by the address of its collector.

    >>> import freewill as fw
    >>> coin = fw.KRR(fw.Categorical(["yes", "no"]), epsilon=1.0)
    >>> survey = fw.Survey(coin.alphabet, {"coin": coin}, name="smoking")
    >>> page_address("https://example.org/ask/", survey)
    'https://example.org/ask/s/smoking'
    """
    with raised_as(ParameterError, "--url "):
        root = collector_at(url)
    page = f"s/{survey.name}" if survey.name else f"surveys/{survey.id}"
    return f"{root}/{page}"


def write_qr(address: str, path: Path) -> None:
    """Write the QR code of an address as .svg or .png; a seventh of it may be unreadable."""
    try:
        import segno  # noqa: PLC0415
    except ImportError as error:
        raise ParameterError(
            f"{first_line(error)}: QR codes need segno: pip install 'freewill[serve]'."
        ) from None
    try:
        code = segno.make(address, error="m", micro=False)
    except segno.DataOverflowError:
        raise ParameterError(f"{shown(address)} is too long for a QR code.") from None
    kind = path.suffix[1:].lower()
    texts = {"title": address, "svgclass": None, "lineclass": None} if kind == "svg" else {}
    with whole_file(path, error=ParameterError) as part, part.open("wb") as file:
        code.save(file, kind=kind, border=_QUIET, scale=_SCALE, light="white", **texts)
