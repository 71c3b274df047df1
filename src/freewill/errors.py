"""What can go wrong, by name; every message says what came, what was expected and what to do."""


class FreewillError(Exception):
    """Any error that Freewill raises on purpose."""


class ParameterError(FreewillError, ValueError):
    """A parameter outside its range: an epsilon that is not positive, a loss out of reach."""


class AlphabetError(FreewillError, ValueError):
    """A value outside the alphabet, or an alphabet that does not fit the mechanism."""


class LawError(FreewillError, ValueError):
    """A law that is not row-stochastic, or an operation that the law does not allow."""


class SpecError(FreewillError, ValueError):
    """A portable description that is unknown or damaged."""


class EvidenceError(FreewillError, ValueError):
    """Reports or counts that cannot have come from their mechanism."""


class IdentifiabilityError(FreewillError, ValueError):
    """Evidence that cannot tell some directions of theta apart."""


class SurveyError(FreewillError, ValueError):
    """A survey that is damaged, names a mechanism twice, or does not offer what was asked for."""


class ReportError(FreewillError, ValueError):
    """Reports that cannot be read or written: a damaged file, wrong columns, invalid rows."""


def first_line(error: BaseException) -> str:
    r"""Return the first line of what an error says.

    >>> first_line(ValueError("no such thing.\nand more"))
    'no such thing'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
