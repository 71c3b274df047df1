"""`python -m tools.mutants.javascript`: small faults in what freewill.js draws by, one at a time.

The oracles are the files of vectors that every client must reproduce: the bytes that a device reads
and the report that it must give. A fault that leaves all of them as they are has survived. Programs
are not only drawn by but verified, of which vectors say nothing: there what they leave alive is
tried by the tests of programs as well.
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
TESTS = ("tests/device/test_programs_verified.py", "tests/device/test_programs_js.py")
LISTED = HERE.parent / "equivalent_mutants.txt"
FILES = {
    "draws": VECTORS,
    "chances": VECTORS,
    "exponential": VECTORS,
    "mechanisms": VECTORS,
    "programs": PROGRAMS,
}
"""What decides a report, with its vectors: coins and tables, the chances they are tossed by, who
tosses which, and mechanisms that come as data."""
TESTED = {"programs"}
"""Files whose faults tests try too."""
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
    held = json.loads(FILES[mutant.path.stem].read_text(encoding="utf-8"))
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
    """Run the tests of programs on each fault, in a fork of one process that has collected them."""
    verdicts: dict[Mutant, str] = {}

    def job(items: dict[str, Any]) -> None:
        tests = list(items.values())
        for mutant, text in alive:
            with faulty(mutant, text) as copy:
                code = forked(partial(_first_failure, tests, copy))
            verdicts[mutant] = {SURVIVED: "survived", KILLED: "killed"}.get(code, "late")

    with tempfile.TemporaryDirectory() as folder:
        collect(ROOT, job, Path(folder), TESTS)
    return verdicts


def _first_failure(tests: Sequence[Any], copy: Path) -> int:
    """Run tests on a copy of the module until one fails; without a fault all of them pass."""
    tools.javascript.MODULE = copy
    with silence():
        return first_failure(tests, [_SECONDS] * len(tests))


def main() -> None:
    """Try the mutants whose names hash lowest, and print what nobody noticed."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants.javascript", description=__doc__)
    parser.add_argument("--count", default="300", help="how many mutants, or all")
    parser.add_argument("--file", choices=FILES, help="this file's alone")
    parser.add_argument("--jobs", type=int, default=2, help="processes of Node")
    options = parser.parse_args()
    if shutil.which("node") is None:
        sys.exit("Node is not installed: install it (18 or newer), or leave these mutants out.")
    files = [options.file] if options.file else list(FILES)
    every = [pair for name in files for pair in mutants(MODULE / f"{name}.js")]
    most = len(every) if options.count == "all" else int(options.count)
    plan = sorted(every, key=lambda pair: sha256(str(pair[0]).encode()).digest())[:most]
    print(
        f"{len(every):,} mutants in {several(len(files), 'file')}; {len(plan):,} are tried.",
        flush=True,
    )
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = pool.map(lambda pair: verdict(*pair), plan)
        found = {mutant: said for (mutant, _), said in zip(plan, verdicts, strict=True)}
    alive = [pair for pair in plan if found[pair[0]] == "survived" and pair[0].path.stem in TESTED]
    trials = [Trial(mutant, said) for mutant, said in (found | tested(alive)).items()]
    sizes = Counter(mutant.path.name for mutant, _ in every)
    print_outcome(trials, equivalents(LISTED), sizes, lambda path: path.name)


if __name__ == "__main__":
    main()
