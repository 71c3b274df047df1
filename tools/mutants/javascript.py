"""`python -m tools.mutants.javascript`: small faults in what freewill.js draws by, one at a time.

The first oracles are the files of vectors that every client must reproduce: the bytes that a device
reads and the report that it must give. What they leave alive, or say nothing of (programs are not
only drawn by but verified), is tried by the quick tests of the file.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import tools.javascript
from freewill.errors import several
from tools.javascript import HERE, MODULE
from tools.mutants.mutations import Mutant
from tools.mutants.outcome import Trial, equivalents, print_outcome
from tools.mutants.suite import KILLED, SURVIVED, collect, first_failure, forked, silence

ROOT = HERE.parents[1]
VECTORS = ROOT / "tests" / "device_vectors.json"
PROGRAMS = ROOT / "tests" / "program_vectors.json"
LISTED = HERE.parent / "equivalent_mutants.txt"
FILES: dict[str, tuple[Path | None, tuple[str, ...]]] = {
    "draws": (VECTORS, ("freewill_js_numbers", "freewill_js_input")),
    "chances": (VECTORS, ("freewill_js", "freewill_js_numbers")),
    "exponential": (VECTORS, ("freewill_js_numbers",)),
    "mechanisms": (VECTORS, ("freewill_js", "freewill_js_verdicts", "freewill_js_input")),
    "programs": (PROGRAMS, ("programs_verified", "programs_js", "longitudinal_js")),
    "composed": (PROGRAMS, ("composed_js",)),
    "family": (None, ("family_js",)),
    "law": (None, ("explain_js",)),
    "log": (None, ("survey_log",)),
}
"""What decides a report, with its vectors and its tests: coins and tables, the chances they are
tossed by, who tosses which, and mechanisms that come as data. Beside it, what people are shown of
laws, and the log that they verify."""
_SECONDS = 60
_TOKENS = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)
    |(?P<number>\b\d+n?\b(?!\.))
    |(?P<word>\b(?:true|false|min|max|floor|ceil)\b)
    |(?P<sign>===|!==|\*\*|=>|<<|>>>|>>|<=|>=|&&|\|\||\+\+|--|[-+*/%&|]=|[-+*/%<>&|])""",
    re.VERBOSE | re.DOTALL,
)
_SIGNS = {
    "===": "!==", "!==": "===", "**": "*", "<<": ">>", ">>": "<<", ">>>": "<<", "<=": "<",
    ">=": ">", "<": "<=", ">": ">=", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "+", "/": "*",
    "%": "*", "&": "|", "|": "&", "+=": "-=", "-=": "+=", "*=": "+=", "true": "false",
    "false": "true", "min": "max", "max": "min", "floor": "ceil", "ceil": "floor",
}  # fmt: skip


def mutants(path: Path) -> Iterator[tuple[Mutant, str]]:
    """Yield every fault of a file, and the text of the file with it."""
    source = path.read_text(encoding="utf-8")
    number = 0
    for match in _TOKENS.finditer(source):
        if match["skip"]:
            continue
        token = match[0]
        digits = token.rstrip("n")
        new = f"{int(digits) + 1}{token[len(digits) :]}" if match["number"] else _SIGNS.get(token)
        start = source.rfind("\n", 0, match.start()) + 1
        before = source[start : source.find("\n", start)]
        if new is None or before.lstrip().startswith(("import ", "throw ")):
            continue
        text = source[: match.start()] + new + source[match.end() :]
        after = text[start : text.find("\n", start)]
        line = source.count("\n", 0, start) + 1
        yield Mutant(path, number, line, path.stem, before.strip(), after.strip()), text
        number += 1


@contextmanager
def faulty(mutant: Mutant, text: str) -> Iterator[Path]:
    """Copy the module, with the fault in it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "js")
        shutil.copytree(MODULE, copy)
        (copy / mutant.path.name).write_text(text, encoding="utf-8")
        yield copy


def verdict(mutant: Mutant, text: str) -> str:
    """Draw all vectors by a copy of the module with the fault in it."""
    vectors, _ = FILES[mutant.path.stem]
    if vectors is None:
        return "survived"
    held = json.loads(vectors.read_text(encoding="utf-8"))
    with faulty(mutant, text) as copy:
        job, drawn = copy.with_name("job.json"), copy.with_name("bytes")
        job.write_text(json.dumps({"trial": "streams", "given": held}), encoding="utf-8")
        drawn.write_bytes(b"")
        command = ["node", *map(str, (HERE / "node.mjs", copy / "freewill.js", job, drawn))]
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return "late"
    if done.returncode:
        return "killed"
    expected = [[case["report"], case["used"]] for case in held["cases"]]
    return "survived" if json.loads(done.stdout) == expected else "killed"


def tested(alive: Sequence[tuple[Mutant, str]]) -> dict[Mutant, str]:
    """Run its tests on each fault, in a fork of one process that has collected them."""
    verdicts: dict[Mutant, str] = {}
    places = {stem: [_tests(name) for name in names] for stem, (_, names) in FILES.items()}

    def job(items: dict[str, Any]) -> None:
        for mutant, text in alive:
            own = places[mutant.path.stem]
            tests = [item for name, item in items.items() if name.partition("::")[0] in own]
            with faulty(mutant, text) as copy:
                code = forked(partial(_first_failure, tests, copy))
            verdicts[mutant] = {SURVIVED: "survived", KILLED: "killed"}.get(code, "late")

    wanted = sorted({name for mutant, _ in alive for name in places[mutant.path.stem]})
    with tempfile.TemporaryDirectory() as folder:
        collect(ROOT, job, Path(folder), wanted)
    return verdicts


def _tests(name: str) -> str:
    return f"tests/device/test_{name}.py"


def _first_failure(tests: Sequence[Any], copy: Path) -> int:
    """Run tests on a copy of the module until one fails; without a fault all of them pass."""
    tools.javascript.MODULE = copy
    with silence():
        return first_failure(tests, [_SECONDS] * len(tests))


def _draw(mutant: Mutant) -> bytes:
    """Order mutants by what they change, the same in every checkout."""
    name = f"{mutant.path.name} {mutant.number} {mutant.change}"
    return sha256(name.encode()).digest()


def main() -> None:
    """Try the mutants whose names hash lowest, and print what nobody noticed."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants.javascript", description=__doc__)
    parser.add_argument("--count", default="300", help="how many mutants, or all")
    parser.add_argument("--file", choices=[*FILES], help="this file's alone")
    parser.add_argument("--jobs", type=int, default=2, help="processes of Node")
    options = parser.parse_args()
    if shutil.which("node") is None:
        sys.exit("Node is not installed: install it (18 or newer), or leave these mutants out.")
    files = [options.file] if options.file else list(FILES)
    every = [pair for name in files for pair in mutants(MODULE / f"{name}.js")]
    most = len(every) if options.count == "all" else int(options.count)
    plan = sorted(every, key=lambda pair: _draw(pair[0]))[:most]
    print(
        f"{len(every):,} mutants in {several(len(files), 'file')}; {len(plan):,} are tried.",
        flush=True,
    )
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = pool.map(lambda pair: verdict(*pair), plan)
        found = {mutant: said for (mutant, _), said in zip(plan, verdicts, strict=True)}
    alive = [pair for pair in plan if found[pair[0]] == "survived"]
    trials = [Trial(mutant, said) for mutant, said in (found | tested(alive)).items()]
    sizes = Counter(mutant.path.name for mutant, _ in every)
    print_outcome(trials, equivalents(LISTED), sizes, lambda path: path.name)


if __name__ == "__main__":
    main()
