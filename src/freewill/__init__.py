"""Free-will privacy: everyone picks a mechanism, and the distribution is still reconstructed.

>>> import freewill as fw
>>> ages = fw.Linear(0, 99, unit="year")
>>> mechanism = fw.Geometric(ages, epsilon=0.1)
>>> reports = mechanism.obfuscate(ages.encode([34, 71]))
>>> str(mechanism.guarantee())
'0.1-geo-indistinguishability per year'
"""

from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0"


def _public_names() -> dict[str, tuple[str, str]]:
    """Return the module and the name there of each public name, as the stub lists them.

    What a device needs loads with NumPy alone, and everything else when it is first used; type
    checkers read the same list.
    """
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = (line.split() for line in stub.splitlines() if line.startswith("from "))
    return {name: (module, there) for _, module, _, there, _, name, *_ in imports}


_NAMES = _public_names()
__all__ = ["__version__", *sorted(_NAMES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'freewill' has no attribute {name!r}")
    module, there = _NAMES[name]
    owner = import_module(module)
    value = getattr(owner, there) if hasattr(owner, there) else import_module(f"{module}.{there}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
