"""Try a wheel and a source archive as a stranger would: in empty environments, outside this folder.

Run by `make release` with the two files.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SURVEY = {
    "freewill survey": 1,
    "alphabet": {"kind": "linear", "first": 0, "last": 9, "step": 1},
    "mechanisms": {
        "careful": {"mechanism": "geometric", "epsilon": 0.5},
        "relaxed": {"mechanism": "k-rr", "epsilon": 3.0},
    },
}
IN_SOURCE = (
    "tests/contract.py",
    "conftest.py",
    "docs/three_quarters.py",
    "LICENSE",
    "pyproject.toml",
)
IN_WHEEL = (
    "freewill/device/js/freewill.js",
    "freewill/device/js/package.json",
    "freewill/collector/web/answer.html",
    "freewill/collector/web/answer.js",
    "freewill/collector/web/style.css",
)
DOCTESTS = (
    "freewill",
    "freewill.numeric.simplex",
    "freewill.domain.guarantees.promises",
    "freewill.domain.mechanisms.randomised_response",
)


def main() -> None:
    """Try both files named on the command line."""
    wheel, source = (Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="freewill-release-") as name:
        folder = Path(name)
        try_wheel(wheel, folder)
        try_source(source, wheel, folder)
    print(f"both work: {wheel.name}, {source.name}")


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel with its dependencies alone; import it, run doctests and commands."""
    venv.create(folder / "venv", with_pip=True)
    python, freewill = (folder / "venv" / "bin" / name for name in ("python", "freewill"))
    quiet = ["--quiet", "--disable-pip-version-check"]
    run(folder, python, "-m", "pip", "install", *quiet, wheel)
    with zipfile.ZipFile(wheel) as held:
        if missing := [name for name in IN_WHEEL if name not in held.namelist()]:
            raise SystemExit(f"{wheel.name} lacks {missing[0]}.")
    version = run(folder, python, "-c", "import freewill; print(freewill.__version__)").strip()
    if f"-{version}-" not in wheel.name:
        raise SystemExit(f"{wheel.name} holds version {version}.")
    for module in DOCTESTS:
        code = f"import doctest, importlib; m = importlib.import_module({module!r}); "
        code += "r = doctest.testmod(m); raise SystemExit(r.failed or not r.attempted)"
        run(folder, python, "-c", code)
    (folder / "survey.json").write_text(json.dumps(SURVEY))
    (folder / "ages.csv").write_text("age\n" + "\n".join(str(i % 7) for i in range(700)) + "\n")
    reports = ["-s", "survey.json", "-c", "age", "-o", "reports.parquet"]
    run(folder, freewill, "obfuscate", "ages.csv", *reports)
    run(folder, freewill, "collect", "reports.parquet", "-s", "survey.json", "-o", "e.parquet")
    print(run(folder, freewill, "estimate", "e.parquet"))
    run(folder, freewill, "audit", "survey.json")


def try_source(source: Path, wheel: Path, folder: Path) -> None:
    """Build a wheel from the source archive: it must be the same, and the tests must be there."""
    with tarfile.open(source) as archive:
        archive.extractall(folder / "source", filter="data")
        inside = {name.partition("/")[2] for name in archive.getnames()}
    missing = [name for name in IN_SOURCE if name not in inside]
    if missing:
        raise SystemExit(f"{source.name} has no {', '.join(missing)}.")
    unpacked = next((folder / "source").iterdir())
    run(unpacked, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "again")
    if files(next((folder / "again").iterdir())) != files(wheel):
        raise SystemExit(f"the wheel built from {source.name} differs from {wheel.name}.")


def files(wheel: Path) -> dict[str, int]:
    """Checksums of what is in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def run(folder: Path, *command: str | Path) -> str:
    """Run a command in a folder, without the variables that would lead it back here."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
