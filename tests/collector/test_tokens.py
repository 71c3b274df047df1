"""Who may ask what: roles, where their tokens come from, and how each is replaced alone."""

import asyncio
import os
import sqlite3

import numpy as np
import pytest

from cli_cases import refused, run
from freewill.collector import serving, tokens
from freewill.collector.database import StoreBusyError
from freewill.collector.store import open_store
from freewill.collector.tokens import ROLES, Sources, Tokens, read_token, sources, token_digest
from freewill.errors import ParameterError
from service_cases import ID, SURVEY, needs_serve, people, served

OLD, NEW = "correct-horse-battery", "staple-horse-correct"
ADDRESSES = {
    "viewer": [f"/v1/surveys/{ID}/{what}" for what in ("people", "estimate", "table")],
    "metrics": ["/v1/metrics"],
    "administrator": [f"/v1/surveys/{ID}/evidence"],
}


def bearer(token):
    return {"headers": {"authorization": f"Bearer {token}"}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@needs_serve
@pytest.mark.parametrize("public", [False, True])
def test_a_role_may_ask_for_its_own_and_the_administrator_for_all(path, public):
    async def work(client):
        await client.post(people(SURVEY, 300, np.random.default_rng(0)))
        store = client.made.store
        held = {"viewer": store.new_token("viewer"), "metrics": store.new_token("metrics")}
        held |= {"administrator": client.token, "nobody": NEW}
        client.made.tokens.refresh()
        refusals = {}
        for needed, addresses in ADDRESSES.items():
            for address in addresses:
                for role, token in held.items():
                    answer = await client.get(address, **bearer(token))
                    allowed = role in (needed, "administrator")
                    if public and (needed, role) == ("viewer", "metrics"):
                        # As everyone: nothing was released yet.
                        assert answer.status == 409 or not answer.json["live"], address
                        continue
                    assert answer.status == (200 if allowed else 401), (address, role)
                    if not allowed:
                        assert token not in answer.body.decode()
                        refusals.setdefault(needed, set()).add(answer.body)
        # A refusal says who may ask, and is one whether a token is another role's or nobody's.
        assert all(len(bodies) == 1 for bodies in refusals.values())
        assert len(refusals) == 3
        for role, token in held.items():
            closing = await client.ask("POST", f"/v1/surveys/{ID}/close", **bearer(token))
            assert closing.status == (200 if role == "administrator" else 401)
        address = ADDRESSES["viewer"][0]
        assert (await client.get(address, **bearer(held["viewer"]))).json["roles"] == ["viewer"]
        if public:
            assert (await client.get(address)).json["roles"] == []

    served(work, path, public=public)


@needs_serve
def test_a_new_token_of_one_role_holds_within_a_second_and_others_stay(path, monkeypatch):
    """Made by another process, as `freewill token` does; the server is not started again."""
    now = [1000.0]
    monkeypatch.setattr(tokens, "monotonic", lambda: now[0])

    async def work(client):
        async def status(role, token):
            return (await client.get(ADDRESSES[role][0], **bearer(token))).status

        first = client.made.store.new_token("viewer")
        now[0] += 1
        assert await status("viewer", first) == await status("metrics", client.token) == 200
        printed = await asyncio.to_thread(run, "token", "viewer", "--store", path)
        second = printed.stdout.split()[-1]
        assert await status("viewer", first) == 200
        now[0] += 1
        assert await status("viewer", first) == 401
        assert await status("viewer", second) == await status("metrics", client.token) == 200

        def away():
            raise StoreBusyError("away")

        client.made.tokens._stored = away
        now[0] += 1
        assert await status("metrics", client.token) == 200

    served(work, path)
    assert "no such store" in refused("token", "viewer", "--store", path.with_name("none.db"))
    assert not path.with_name("none.db").exists()


def test_tokens_are_made_once_and_kept_as_hashes(path):
    store = open_store(str(path))
    assert store.token_hashes() == {}
    first = store.new_token(first=True)
    assert first is not None
    assert store.new_token(first=True) is None
    assert store.token_hashes() == {"administrator": token_digest(first)}
    made = {role: store.new_token(role) for role in ROLES}
    assert store.token_hashes() == {role: token_digest(token) for role, token in made.items()}
    assert len({first, *made.values()}) == 4
    store.close()
    with sqlite3.connect(path) as connection:
        facts = b"".join(fact for (fact,) in connection.execute("SELECT fact FROM facts"))
    assert not any(token.encode() in facts for token in made.values())


def test_a_file_is_read_again_when_it_changes_and_opens_nothing_while_it_is_wrong(tmp_path):
    file = tmp_path / "viewer"
    file.write_text(f"{OLD}\n")
    stored = {role: token_digest(f"{role} of the store") for role in ROLES}
    held = Tokens(lambda: stored, sources({"viewer": file}, {"FREEWILL_METRICS_TOKEN": NEW}))

    def roles(token):
        held.refresh()
        return set(held.roles_of(f"bearer {token} "))

    # A file or a variable takes the place of what the store has.
    assert roles(OLD) == {"viewer"}
    assert roles(NEW) == {"metrics"}
    assert roles("administrator of the store") == {"administrator"}
    assert roles("viewer of the store") == roles("metrics of the store") == roles("") == set()
    for content in ("short", "", f"{NEW} {OLD}", "\u1234" * 20, None):
        file.unlink() if content is None else file.write_text(content, encoding="utf-8")
        assert roles(OLD) == roles(NEW) - {"metrics"} == roles(content or "") == set()
    file.write_text(NEW)
    assert roles(NEW) == {"viewer", "metrics"}
    other = tmp_path / "other"
    other.write_text(OLD)
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    os.replace(other, file)  # as old and as long, but another file
    assert roles(OLD) == {"viewer"}
    assert held.roles_of(f"Basic {OLD}") == frozenset()


def test_where_tokens_come_from_is_checked_at_the_start(tmp_path):
    file, weak = tmp_path / "token", tmp_path / "weak"
    file.write_text(OLD)
    weak.write_text("hunter2-hunter2")
    by_file = sources({"viewer": None}, {"FREEWILL_ADMIN_TOKEN_FILE": str(file)})
    assert by_file.roles == {"administrator"}
    assert read_token(by_file.files["administrator"]) == OLD
    assert sources({}, {"FREEWILL_VIEWER_TOKEN": ""}) == Sources()
    for files, environment, words in (
        ({"viewer": weak}, {}, "weak: expected a token of at least 16"),
        ({"viewer": tmp_path}, {}, "expected a file with a token"),
        ({"viewer": tmp_path / "none"}, {}, "none: .* Expected a file"),
        ({}, {"FREEWILL_METRICS_TOKEN": "hunter2"}, "FREEWILL_METRICS_TOKEN: expected a token"),
        ({}, {"FREEWILL_METRICS_TOKEN": f"{OLD} {OLD}"}, "without blanks"),
        (
            {"administrator": file},
            {"FREEWILL_ADMIN_TOKEN": OLD},
            "--token-file and FREEWILL_ADMIN_TOKEN: expected one place",
        ),
        (
            {},
            {"FREEWILL_ADMIN_TOKEN": OLD, "FREEWILL_VIEWER_TOKEN": OLD},
            "the viewer token is the administrator token, too",
        ),
    ):
        with pytest.raises(ParameterError, match=words) as error:
            sources(files, environment)
        assert "hunter2" not in str(error.value)
        assert OLD not in str(error.value)
    file.chmod(0o600)
    assert by_file.remarks() == []
    file.chmod(0o640)
    (remark,) = by_file.remarks()
    assert "can be read by others: chmod 600" in remark


@needs_serve
def test_a_server_with_a_token_of_its_operators_makes_none(tmp_path, monkeypatch):
    file, remarks, told = tmp_path / "token", [], []
    file.write_text(OLD)
    file.chmod(0o644)
    monkeypatch.setattr("freewill.collector.server.Server.run", lambda *_, **__: None)
    monkeypatch.setattr(serving, "_unhurried", lambda: None)
    named = sources({"administrator": file}, {})
    store = str(tmp_path / "people.db")

    def serve(**more):
        surveys = {"a.json": SURVEY}
        serving.serve(
            surveys, lambda _, token: told.append(token), port=0, store=store, tokens=named, **more
        )

    serve(remark=remarks.append)
    assert told == [None]
    assert ["chmod 600" in remark for remark in remarks] == [True]
    with pytest.raises(ParameterError, match="--new-token"):
        serve(new_token=True)
    made = open_store(store)
    assert made.token_hashes() == {}
    made.close()
