"""The proxies of `deploy/`, Debian's own nginx and Caddy: TLS, a folder, limits, and no trace."""

import http.client
import http.server
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import freewill as fw
from live_cases import running
from pages_cases import Person, browsing, needs_pages
from service_cases import PATIENCE, needs_serve, new_id, received

pytestmark = [needs_serve, pytest.mark.slow]
DEPLOY = Path(__file__).parents[2] / "deploy"
HOST = "survey.example.org"
AGES = fw.Linear(0, 99, unit="year")
SURVEY = fw.Survey(
    AGES,
    {"careful": fw.Geometric(AGES, 0.05), "relaxed": fw.KRR(AGES, 4.0)},
    title="Ages",
    question="How old are you?",
)
TOKEN = "the token of the administrator"
CLIENT = "192.0.2.77"
"""What a client claims to be, which nobody is told."""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def certificate(folder):
    """Make a certificate that nobody else trusts."""
    key, made = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST},IP:127.0.0.1"]
    subprocess.run(
        [*command, *names, "-keyout", key, "-out", made], check=True, capture_output=True
    )
    return made, key


def replaced(text, pairs):
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def nginx(folder, port, upstream, prefix):
    """Return a command for nginx with our file, at other ports and with another certificate."""
    made, key = certificate(folder)
    pairs = [
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("listen 80", f"listen 127.0.0.1:{free_port()}"),
        ("127.0.0.1:8000", upstream),
        ("/etc/ssl/freewill/certificate.pem", str(made)),
        ("/etc/ssl/freewill/key.pem", str(key)),
    ]
    if prefix:
        pairs += [
            ("location / {", f"location {prefix}/ {{"),
            ("proxy_pass http://freewill;", "proxy_pass http://freewill/;"),
            ("location = /v1/metrics", f"location = {prefix}/v1/metrics"),
        ]
    (folder / "site.conf").write_text(replaced((DEPLOY / "nginx.conf").read_text(), pairs))
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; worker_processes 1; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\n{places}access_log {folder}/access.log;\n"
        f"include {folder}/site.conf;\n}}\n"
    )
    return ["nginx", "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]


def caddy(folder, port, upstream, prefix):
    """Return a command for Caddy with our file, at another port and with another certificate."""
    made, key = certificate(folder)
    pairs = [
        (
            f"\n{HOST} {{",
            f"\nhttps://{HOST}:{port}, https://127.0.0.1:{port} {{\n\ttls {made} {key}",
        ),
        ("127.0.0.1:8000", upstream),
        ("{\n\tadmin off", "{\n\tauto_https disable_redirects\n\tskip_install_trust\n\tadmin off"),
    ]
    if prefix:
        pairs += [
            ("\thandle {", f"\thandle_path {prefix}/* {{"),
            ("handle /v1/metrics", f"handle {prefix}/v1/metrics"),
        ]
    (folder / "Caddyfile").write_text(replaced((DEPLOY / "Caddyfile").read_text(), pairs))
    return ["caddy", "run", "--config", f"{folder}/Caddyfile", "--adapter", "caddyfile"]


MAKERS = {"nginx": nginx, "caddy": caddy}


@contextmanager
def before(name, folder, upstream, prefix=""):
    """Run a proxy before somebody, and yield its port."""
    if shutil.which(name) is None:
        pytest.skip(f"no {name} on this machine")
    folder.mkdir()
    port = free_port()
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/bin"}
    with subprocess.Popen(
        MAKERS[name](folder, port, upstream, prefix),
        env=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                assert process.poll() is None, process.stderr.read()
                with closing(socket.socket()) as one:
                    if one.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.02)
            yield port
        finally:
            process.terminate()
            process.wait(PATIENCE)
            process.stderr.close()


def trusting():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def ask(port, path, body=None, headers=()):
    connection = http.client.HTTPSConnection(
        "127.0.0.1", port, timeout=PATIENCE, context=trusting()
    )
    with closing(connection):
        given = {"host": HOST, "content-type": "application/json", **dict(headers)}
        connection.request("GET" if body is None else "POST", path, body, given)
        answer = connection.getresponse()
        found = {key.lower(): value for key, value in answer.getheaders()}
        return answer.status, found, answer.read()


def statuses(port, path, many):
    """Ask again and again on one connection."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", port, timeout=PATIENCE, context=trusting()
    )
    found = []
    with closing(connection):
        for _ in range(many):
            connection.request("GET", path, headers={"host": HOST})
            answer = connection.getresponse()
            answer.read()
            found.append(answer.status)
    return found


@pytest.mark.parametrize("_", [pytest.param(0, marks=needs_pages)])
@pytest.mark.parametrize("prefix", ["", "/people"], ids=["root", "folder"])
@pytest.mark.parametrize("name", MAKERS)
def test_people_answer_and_the_dashboard_shows_it_behind_a_proxy(tmp_path, name, prefix, _):
    (tmp_path / "token").write_text(TOKEN.replace(" ", "-"))
    (tmp_path / "token").chmod(0o600)
    options = ("--token-file", str(tmp_path / "token"), "--min-people", "2")
    with (
        running(tmp_path, SURVEY, *options) as (_, upstream),
        before(name, tmp_path / "proxy", upstream, prefix) as port,
        browsing() as browser,
    ):
        root = f"https://127.0.0.1:{port}{prefix}"
        for _ in range(2):
            with closing(browser.new_context(ignore_https_errors=True)) as context:
                one = Person(context.new_page(), root)
                one.page.goto(f"{root}/surveys/{SURVEY.id}")
                one.choose("line")
                one.draw()
                one.receive()
                one.check()
        with closing(browser.new_context(ignore_https_errors=True)) as context:
            page = context.new_page()
            page.goto(f"{root}/surveys/{SURVEY.id}/dashboard")
            page.fill("#token", TOKEN.replace(" ", "-"))
            page.click("#token-form button")
            page.locator(".js-plotly-plot").first.wait_for(timeout=1000 * PATIENCE)
        # Nothing of it is in any file of the proxy's.
        files = [one for one in (tmp_path / "proxy").rglob("*") if one.is_file()]
        assert not any(b"reports" in one.read_bytes() for one in files)
        assert not any(SURVEY.id.encode() in one.read_bytes() for one in files)


@pytest.mark.parametrize("name", MAKERS)
def test_a_proxy_keeps_to_its_limits_and_hides_the_metrics(tmp_path, name):
    with (
        running(tmp_path, SURVEY) as (_, upstream),
        before(name, tmp_path / "proxy", upstream) as port,
    ):
        reports = f"/v1/surveys/{SURVEY.id}/reports"
        row = {"mechanism": "relaxed", "report": 7, "report_id": new_id()}
        status, headers, body = ask(port, reports, json.dumps(row))
        assert (status, json.loads(body)) == (200, {"stored": 1, "known": 0})
        assert headers["strict-transport-security"] == "max-age=31536000"
        # Blanks behind a row are fine, up to 8 MiB.
        fits = json.dumps(row).ljust(8 << 20).encode()
        assert ask(port, reports, fits)[0] == 200
        assert ask(port, reports, fits + b" ")[0] == 413
        assert ask(port, "/v1/metrics")[0] == 404
        status, _, _ = ask(port, "/v1/health", headers={"x": "a" * 60_000})
        assert status in (400, 431)
        if name == "nginx":
            found = statuses(port, "/v1/alive", 600)
            assert set(found) == {200, 429}
            assert found.index(429) > 100


@pytest.mark.parametrize("name", MAKERS)
def test_slow_heads_are_hung_up_on(tmp_path, name):
    with (
        running(tmp_path, SURVEY) as (_, upstream),
        before(name, tmp_path / "proxy", upstream) as port,
    ):
        begun = time.monotonic()
        with (
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain,
            trusting().wrap_socket(plain) as one,
        ):
            one.sendall(b"GET /v1/health HTTP/1.1\r\nhost: ")
            received(one)
        assert 5 < time.monotonic() - begun < 30


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with the headers that came."""

    def do_GET(self):
        body = json.dumps(self.headers.items()).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing."""


@pytest.mark.parametrize("name", MAKERS)
def test_the_collector_is_told_no_address(tmp_path, name):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        upstream = f"127.0.0.1:{server.server_port}"
        with before(name, tmp_path / "proxy", upstream) as port:
            names = ("x-forwarded-for", "x-real-ip", "forwarded")
            _, _, body = ask(port, "/", headers=dict.fromkeys(names, CLIENT))
        found = {key.lower(): value for key, value in json.loads(body)}
    finally:
        server.shutdown()
        server.server_close()
    assert found["host"].startswith(HOST)
    assert not any(CLIENT in value or "127.0.0.1" in value for value in found.values())
    assert not any(found.get(one) for one in names)
