"""freewill.js in apps of one's own: its package, its types, and the examples of its pages."""

import functools
import json
import re
import shutil
import subprocess
import textwrap
import threading
from contextlib import ExitStack, contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tools.javascript import MODULE, node
from tools.javascript.package import VECTORS, PackageError, compiled, made, npm

import freewill as fw
from freewill.collector.reading import read_store
from live_cases import running
from pages_cases import browsing, needs_pages
from service_cases import needs_serve

AGES = fw.Linear(0, 99)
SURVEY = fw.Survey(
    AGES,
    {"careful": fw.Geometric(AGES, 0.1), "relaxed": fw.KRR(AGES, 3.0)},
    question="How old are you?",
)
ROOT = Path(__file__).parents[2]
README = (MODULE / "README.md").read_text()
EXAMPLES = re.findall(r"```js\n(.*?)```", README, re.DOTALL)
EXAMPLE_HOSTS = {"survey.example.org", "app.example.org"}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not node() or shutil.which("npm") is None, reason="needs Node and npm"),
]


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """An empty folder with the package in it, installed from what `npm pack` made."""
    folder = tmp_path_factory.mktemp("app")
    try:
        archive = made(tmp_path_factory.mktemp("made"))
    except PackageError as error:
        if "npm pack" not in str(error):
            raise
        pytest.skip(f"TypeScript cannot be fetched: {error}")
    (folder / "package.json").write_text('{"type": "module"}')
    npm("install", "--offline", "--no-package-lock", str(archive), folder=folder)
    return folder


def run(folder, source):
    """Run a program in Node beside the package; return what it said."""
    (folder / "program.js").write_text(source)
    command = ["node", "program.js"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_package_has_what_it_says_and_no_address(app):
    content = app / "node_modules" / "freewill"
    described = json.loads((content / "package.json").read_text())
    assert (described["name"], described["version"]) == ("freewill", fw.__version__)
    assert (described["type"], described["license"]) == ("module", "MIT")
    assert not {"dependencies", "scripts", "devDependencies"} & described.keys()
    names = {path.relative_to(content).as_posix() for path in content.rglob("*") if path.is_file()}
    scripts = {path.name for path in MODULE.glob("*.js")}
    types = {name.replace(".js", ".d.ts") for name in scripts}
    vectors = {f"vectors/{name}" for name in VECTORS}
    assert names == scripts | types | vectors | {"README.md", "LICENSE", "package.json"}
    for path in (content / "package.json", content / "README.md"):
        assert set(re.findall(r"https?://([^/\s\"'`)]+)", path.read_text())) <= EXAMPLE_HOSTS
    assert not (app / "package-lock.json").exists()


CHECK = """
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { GivenBytes, Survey } from "freewill";
import { KRR } from "freewill/mechanisms.js";
const require = createRequire(import.meta.url);
let right = 0;
for (const name of ["device", "programs"]) {
  const held = require(`freewill/vectors/${name}.json`);
  if (held["freewill vectors"] !== 1) throw new Error("another version");
  const surveys = held.surveys.map((spec) => Survey.parse(spec));
  for (const { survey, name, index, bytes, report, used } of held.cases) {
    const source = new GivenBytes(Buffer.from(bytes, "hex"));
    const mechanism = surveys[survey].find(name);
    const drawn = mechanism.written(mechanism.draw(index, source));
    if (drawn !== report || source.used !== used) throw new Error(`${name}: ${drawn}`);
    right += 1;
  }
}
console.log(right, KRR.name);
"""


def test_an_app_imports_draws_and_reproduces_the_vectors(app):
    right, name = run(app, CHECK).split()
    assert int(right) > 100
    assert name == "KRR"


CONSUMER = """
import { Collector, Device, DeviceError, FreewillError, Memory, Survey, temporary } from "freewill";
import type { Sent } from "freewill/memory.js";

export async function answer(address: string, id: string, age: number): Promise<string> {
  const collector = new Collector(address);
  const { survey: came, log } = await collector.survey(id, { seen: { number: 1, head: "" } });
  const survey: Survey = came;
  const title: string = survey.title ?? survey.question ?? "Survey";
  const wait: number | null = survey.send_within;
  const [first] = survey.menu();
  const told: string = `${first.mechanism.kind} ${first.mechanism.epsilon?.toFixed(2)}`;
  const device = new Device(survey, { memory: new Memory(temporary()) });
  const message: string = await device.message(age, first.name);
  const sent: Sent | null = device.remembered;
  try {
    const { stored, known } = await collector.send(id, message, { tries: 3 });
    return `${told} ${title} ${wait} ${stored + known} ${log.head} ${sent?.value}`;
  } catch (error) {
    if (error instanceof DeviceError || error instanceof FreewillError) return error.message;
    throw error;
  }
}
"""
WRONG = {
    "new Collector(7)": "number",
    "new Device(7, { memory: 3 })": "number",
    "new Memory({ getItem: async () => null, setItem() {} })": "Promise",
    "survey.send_within.toFixed()": "null",
    "survey.titel": "titel",
    'survey.find("k").epsilon.toFixed()': "undefined",
    "survey.report(7, 1)": "number",
}


@pytest.mark.parametrize("resolution", [["nodenext", "nodenext"], ["esnext", "bundler"]])
def test_a_strict_program_in_typescript_is_checked_by_the_types(app, resolution):
    module, how = resolution
    strict = ("--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom")
    options = (*strict, "--module", module, "--moduleResolution", how, "consumer.ts")
    (app / "consumer.ts").write_text(CONSUMER)
    assert compiled(*options, folder=app) == ""
    head = 'import { Collector, Device, Memory, Survey } from "freewill";\n'
    lines = "".join(f"{expression};\n" for expression in WRONG)
    (app / "consumer.ts").write_text(f"{head}declare const survey: Survey;\n{lines}")
    faults = compiled(*options, folder=app)
    for place, (expression, words) in enumerate(WRONG.items(), 3):
        (fault,) = re.findall(rf"^consumer\.ts\({place},.*", faults, re.M)
        assert words in fault, expression


def example(which, address):
    """Return an example of the README as it stands, but for whom it asks for what."""
    return pointed(EXAMPLES[which], address)


def pointed(source, address):
    """Return a program that asks for our survey at an address."""
    found = source.replace("https://survey.example.org", f"http://{address}")
    return found.replace('"8bf3..."', json.dumps(SURVEY.id))


@needs_serve
def test_the_guide_for_pages_runs_as_it_stands(tmp_path):
    """Its steps are one program, in the folder that it says to copy."""
    guide = (ROOT / "docs" / "how-to" / "embed-freewill-js.md").read_text()
    steps = [textwrap.dedent(step) for step in re.findall(r"```js\n(.*?)```", guide, re.DOTALL)]
    shutil.copytree(MODULE, tmp_path / "app")
    (tmp_path / "app" / "package.json").write_text('{"type": "module"}')
    with running(tmp_path, SURVEY) as (_, address):
        run(tmp_path / "app", pointed("\n".join(steps), address))
        assert people(tmp_path) == 1


def people(folder):
    with ExitStack() as stack:
        return read_store(folder / "people.db", SURVEY, stack).people


@needs_serve
def test_the_first_example_runs_in_node(app, tmp_path):
    with running(tmp_path, SURVEY) as (_, address):
        lines = run(app, example(0, address)).splitlines()
        assert lines[-1] == "{ stored: 1, known: 0 }"
        assert [line.split()[0] for line in lines[:-1]] == ["careful", "relaxed"]
        assert people(tmp_path) == 1


@needs_serve
def test_a_memory_in_a_file_sends_the_same_report_again_in_node(app, tmp_path):
    (store,) = [one for one in EXAMPLES if "node:fs" in one]
    with running(tmp_path, SURVEY) as (_, address):
        first = example(0, address).replace("const memory", "const forgotten")
        source = "\n".join([*re.findall("^import .*$", store, re.M), first])
        rest = re.sub("^import .*$", "", store, flags=re.M)
        source = source.replace("const device", f"{rest}\nconst device")
        told = [run(app, source).splitlines()[-1] for _ in range(2)]
        assert told == ["{ stored: 1, known: 0 }", "{ stored: 0, known: 1 }"]
        assert people(tmp_path) == 1
    assert (app / "answers.freewill").stat().st_mode & 0o777 == 0o600


@contextmanager
def another_origin(folder):
    """Serve a folder as an app's own server does."""
    handler = functools.partial(_Silent, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing."""


PAGE = """<!doctype html><script type="importmap">
{"imports": {"freewill": "/node_modules/freewill/freewill.js"}}
</script><script type="module" src="/program.js"></script>"""


@pytest.mark.parametrize("let", [True, False], ids=["named", "not named"])
@pytest.mark.parametrize("_", [pytest.param(0, marks=needs_pages)])
def test_the_first_example_runs_in_a_browser_of_another_origin_that_was_named(
    app, tmp_path, let, _
):
    (app / "index.html").write_text(PAGE)
    with another_origin(app) as origin:
        options = ("--allow-origin", origin) if let else ("--allow-origin", "http://other.org")
        with running(tmp_path, SURVEY, *options) as (_, address), browsing() as browser:
            (app / "program.js").write_text(example(0, address))
            page, said, failed = browser.new_page(), [], []
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: failed.append(str(error)))
            page.goto(f"{origin}/index.html")
            while not failed and not any("stored" in one for one in said):
                page.wait_for_timeout(20)
            page.close()
            if let:
                assert (said[-1], failed) == ("{stored: 1, known: 0}", [])
                assert people(tmp_path) == 1
            else:
                assert "the collector: Failed to fetch" in failed[0]
                assert any("Access-Control-Allow-Origin" in one for one in said)
