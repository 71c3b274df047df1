"""The QR code of a survey's address, to print: what a telephone's camera opens."""

from pathlib import Path

from freewill.collector.verify import collector_at
from freewill.core.files import whole_file
from freewill.domain.survey import Survey
from freewill.errors import ParameterError, first_line, raised_as, shown

_QUIET = 4
"""Modules of white around it, which ISO 18004 asks for."""
_SCALE = 8
"""Pixels of a module, in PNG."""


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
