"""The files of `deploy/`: what can be tried of them without an engine of containers or systemd."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from live_cases import asked
from service_cases import PATIENCE, SURVEY, needs_serve

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


def instructions(name):
    """Return the arguments of an instruction of the Dockerfile, each on one line."""
    joined = re.sub(r"\\\n\s*", "", DOCKERFILE)
    return re.findall(rf"^(?:.* )?{name} (.*)$", joined, re.M)


def words(text):
    """Read what the form of a list means."""
    return [str(one) for one in json.loads(text)]


def test_the_image_has_what_it_names_and_runs_as_nobody():
    for copied in instructions("COPY"):
        source = copied.split()[0]
        assert source.startswith("--from") or (ROOT / source).exists(), source
    assert instructions("USER") == ["10001:10001"]
    assert "--require-hashes" in DOCKERFILE
    pins = (ROOT / "requirements" / "serve.txt").read_text()
    assert "--hash=sha256:" in pins
    assert "://" not in pins
    for line in re.findall(r"^\S+==.*$", pins, re.M):
        assert line.endswith("\\"), line  # a hash follows


def test_what_the_image_installs_is_what_is_tested():
    """The pins of the image are those of `make test`, package by package."""

    def versions(name):
        text = (ROOT / "requirements" / name).read_text()
        return set(re.findall(r"^([a-z0-9-]+==\S+(?: ; [^\\]*)?)", text, re.M))

    assert versions("serve.txt") <= versions("dev.txt") | versions("service.txt")


@pytest.mark.slow
@needs_serve
def test_the_steps_of_the_image_give_a_collector_that_is_well(tmp_path):
    """Its own commands, in a folder in the place of /opt and with this machine's Python."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    places = {
        "/opt/freewill": str(tmp_path / "opt"),
        "/build/serve.txt": str(ROOT / "requirements" / "serve.txt"),
        "python3.13": version,
        "/data": str(tmp_path),
        "/surveys": str(tmp_path),
        "0.0.0.0": "127.0.0.1",
        "8000": "0",
    }

    def placed(text):
        for old, new in places.items():
            text = text.replace(old, new)
        return text

    stage = DOCKERFILE.split("\nFROM ")[1]
    for step in re.findall(r"^RUN (.*)$", re.sub(r"\\\n\s*", "", stage), re.M):
        if "compileall" in step:
            packages = tmp_path / "opt" / "lib" / version / "site-packages" / "freewill"
            shutil.copytree(ROOT / "src" / "freewill", packages)
        command = placed(step).replace("python -m venv", f"{sys.executable} -m venv")
        # Compiling what is installed takes most of the time, and shows nothing here.
        quick = {**os.environ, "PIP_NO_COMPILE": "1"}
        done = subprocess.run(
            shlex.split(command), env=quick, capture_output=True, text=True, check=False
        )
        if "pip install" in command and "No matching distribution" in done.stderr:
            pytest.skip(f"packages cannot be had: {done.stderr[-300:]}")
        assert done.returncode == 0, done.stderr[-2000:]
    SURVEY.save(tmp_path / "survey.json")
    (entry,), (command, *_) = instructions("ENTRYPOINT"), instructions("CMD")[::-1]
    process = subprocess.Popen(
        [*words(placed(entry)), *words(placed(command)), "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        first = process.stdout.readline()
        address = first.split("http://")[1].split("/")[0]
        assert asked(address, "/v1/health")[0] == 200
        (check,) = [one for one in instructions("CMD") if "v1/health" in one]
        program = [one.replace("127.0.0.1:8000", address) for one in words(check)]
        program[0] = placed(program[0])
        assert subprocess.run(program, check=False, timeout=PATIENCE).returncode == 0
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()


def test_the_compose_file_gives_away_nothing():
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = content["services"]
    collector, database = services["collector"], services["database"]
    assert (DEPLOY / collector["build"]["context"] / collector["build"]["dockerfile"]).is_file()
    assert collector["read_only"] is True
    assert collector["cap_drop"] == ["ALL"]
    assert collector["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in collector["ports"])
    assert "ports" not in database
    assert content["networks"]["inside"] == {"internal": True}
    assert database["networks"] == ["inside"]
    # Secrets come from files alone, and all that are named are there.
    for service in services.values():
        for name, value in service["environment"].items():
            secret = value.removeprefix("/run/secrets/")
            assert ("FILE" in name) == (secret != value)
            assert secret == value or secret in service["secrets"]
        assert set(service["secrets"]) <= set(content["secrets"])


def test_the_container_can_read_what_its_steps_make_and_nobody_else_the_secrets(tmp_path):
    """The steps at the head of the file, for the user that the image runs as."""
    head = re.findall(r"^#     (.*)$", (DEPLOY / "compose.yaml").read_text(), re.M)
    steps = [one for one in head if not one.startswith(("docker ", "chown "))]
    (given,) = [one.split()[1:] for one in head if one.startswith("chown ")]
    subprocess.run(["sh", "-ec", "\n".join(steps)], cwd=tmp_path, check=True, umask=0o022)
    user, *owned = given
    assert f"{user}:{user}" in instructions("USER")
    assert set(owned) == {f"secrets/{name}" for name in ("admin", "metrics", "pgpass")}
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    files = dict.fromkeys(("admin", "metrics", "database", "pgpass"), 0o600)
    assert modes == {"secrets": 0o700, "surveys": 0o755, **files}
    password = (tmp_path / "secrets" / "database").read_text().strip()
    assert (tmp_path / "secrets" / "pgpass").read_text().strip().endswith(f":collector:{password}")


def test_options_that_the_files_give_are_options_of_the_command():
    from typer.testing import CliRunner  # noqa: PLC0415

    from freewill.cli import app  # noqa: PLC0415

    told = CliRunner().invoke(app, ["serve", "--help"], terminal_width=300).output
    for file in ("Dockerfile", "compose.yaml", "freewill.service"):
        lines = (DEPLOY / file).read_text().splitlines()
        given = [line for line in lines if re.match(r"ExecStart|CMD \[\"/surveys|      - --", line)]
        assert given, file
        for option in re.findall(r"--[a-z-]+", " ".join(given)):
            assert option in told, (file, option)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_the_unit_is_one_and_exposes_little(tmp_path):
    text = (DEPLOY / "freewill.service").read_text()
    unit = tmp_path / "freewill.service"
    unit.write_text(text.replace("/opt/freewill/bin/python", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=15", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-500:]
