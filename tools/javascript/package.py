"""Make the npm package of freewill.js: `python -m tools.javascript.package [FOLDER]`.

Its files are those of `src/freewill/device/js`, with the licence, the vectors for other clients and
types, which TypeScript makes from the comments. TypeScript is fetched by npm, of one version, and
used if it is the one that `typescript.txt` has the hash of. Nothing else is fetched.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path

import freewill as fw
from tools.javascript import HERE, MODULE

ROOT = HERE.parents[1]
VECTORS = {"device.json": "device_vectors.json", "programs.json": "program_vectors.json"}
"""By their names in the package."""
_MODERN = ("--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--strict")
_TO_TYPES = (*_MODERN, "--allowJs", "--declaration", "--emitDeclarationOnly")


class PackageError(RuntimeError):
    """A package that cannot be made."""


def npm(*arguments: str, folder: Path) -> str:
    """Run npm in a folder, without what it would write for itself."""
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    done = subprocess.run(
        ["npm", *arguments, *quiet], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise PackageError(f"npm {arguments[0]}: {done.stderr[-1000:]}")
    return done.stdout


@cache
def typescript() -> Path:
    """Return the compiler of the pinned TypeScript, fetched into .venv the first time."""
    lines = (HERE / "typescript.txt").read_text().splitlines()
    name, version, expected = next(line for line in lines if not line.startswith("#")).split()
    place = ROOT / ".venv" / f"{name}-{version}"
    compiler = place / "package" / "lib" / "tsc.js"
    if not compiler.exists():
        with tempfile.TemporaryDirectory() as folder:
            npm("pack", f"{name}@{version}", folder=Path(folder))
            (archive,) = Path(folder).glob("*.tgz")
            digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            if f"sha512-{digest}" != expected:
                raise PackageError(f"{archive.name} is not what {HERE}/typescript.txt says.")
            with tarfile.open(archive) as content:
                content.extractall(place, filter="data")
    return compiler


def compiled(*arguments: str, folder: Path) -> str:
    """Run the compiler; return what it complains of, nothing if all is well."""
    command = ["node", str(typescript()), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def made(folder: Path) -> Path:
    """Put the files of the package into an empty folder, and pack them; return the archive."""
    described = json.loads((MODULE / "package.json").read_text())
    if described["version"] != fw.__version__:
        raise PackageError(f"package.json has version {described['version']}: {fw.__version__} is.")
    content = folder / "package"
    shutil.copytree(MODULE, content)
    shutil.copy(ROOT / "LICENSE", content)
    (content / "vectors").mkdir()
    for name, source in VECTORS.items():
        held = json.loads((ROOT / "tests" / source).read_text())
        whole = {"freewill vectors": 1, "version": fw.__version__, **held}
        (content / "vectors" / name).write_text(json.dumps(whole, separators=(",", ":")) + "\n")
    fault = compiled(*_TO_TYPES, "--outDir", ".", "freewill.js", folder=content)
    if fault:
        raise PackageError(f"tsc: {fault[-2000:]}")
    npm("pack", "--pack-destination", str(folder), folder=content)
    (archive,) = folder.glob("freewill-*.tgz")
    return archive


def main() -> None:
    """Make the package, and say where it is."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        print(shutil.copy(made(Path(folder)), target))


if __name__ == "__main__":
    main()
