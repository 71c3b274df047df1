"""The memory of what was sent: whole, locked, and never answered by a fresh start."""

import hashlib
import json
import os
import stat
import threading
from fractions import Fraction

import pytest

import freewill as fw
from freewill.core.files import LOCKS
from freewill.device import memory as memories
from freewill.device.memory import (
    LARGEST_MEMORY,
    Content,
    Sent,
    amount,
    amount_text,
    sealed,
    unsealed,
)
from freewill.errors import DeviceError

pytestmark = pytest.mark.skipif(not LOCKS, reason="needs locks that end with their process")
KRR = fw.KRR(fw.Linear(0, 9), 0.1)
SENT = Sent(KRR.id, str(KRR), "4", "0123456789abcdef" * 2, Fraction(1, 10))
CONTENT = Content().adding("id what-is-it", SENT)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sent.memory"


def device(path, question="what-is-it"):
    return fw.Device(KRR, path, question=question)


def test_the_file_is_the_users_own_and_says_what_it_is(path):
    before = os.umask(0)
    try:
        row = device(path).row(3)
    finally:
        os.umask(before)
    for found in path.parent.iterdir():
        assert stat.S_IMODE(found.stat().st_mode) == 0o600, found
    head, body = path.read_text(encoding="utf-8").split("\n")
    assert head.startswith("freewill memory 1 ")
    kept = json.loads(body)
    assert kept["spent"] == "1/10"
    assert kept["sent"]["id what-is-it"] == {
        "mechanism": KRR.id,
        "words": "k-rr(0..9, epsilon=0.1)",
        "epsilon": "1/10",
        "value": row["value"],
        "report_id": row["report_id"],
    }


def test_the_file_is_on_the_disk_before_the_report_is_released(path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda opened: (synced.append(os.fstat(opened)), fsync(opened))
    )
    device(path).row(3)
    assert [stat.S_ISDIR(one.st_mode) for one in synced] == [False, True]
    assert synced[0].st_ino == path.stat().st_ino


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_report_that_cannot_be_kept_is_not_released(path, monkeypatch, failing):
    def fail(*_):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(DeviceError, match=r"cannot be written: no space left.*No report was rel"):
        device(path).row(3)
    monkeypatch.undo()
    assert [found.name for found in path.parent.iterdir()] == [".sent.memory.lock"]
    assert device(path).row(3) == device(path).row(4)


def all_refuse(path, content, words="the memory .*Nothing was drawn"):
    path.write_bytes(content)
    for ask in (device(path).row, device(path, "another-question").report):
        with pytest.raises(DeviceError, match=words):
            ask(3)
    for ask in (
        lambda: device(path).remembered,
        lambda: fw.Memory(path).spent,
        device(path).forget,
    ):
        with pytest.raises(DeviceError, match=words):
            ask()
    assert path.read_bytes() == content


def test_every_flipped_bit_and_every_cut_is_noticed():
    whole = sealed(CONTENT)
    assert unsealed(whole, "here") == CONTENT
    for place in range(len(whole)):
        for bit in range(8):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            with pytest.raises(DeviceError, match="Nothing was drawn"):
                unsealed(bytes(flipped), "here")
        with pytest.raises(DeviceError, match="Nothing was drawn"):
            unsealed(whole[:place], "here")
        with pytest.raises(DeviceError, match="Nothing was drawn"):
            unsealed(whole[:place] + whole[place + 1 :], "here")
    for more in (b"\n", b" ", b"\0", whole):
        with pytest.raises(DeviceError, match="is damaged"):
            unsealed(whole + more, "here")


WHOLE = sealed(CONTENT)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\0" * 4096, "does not begin"),
        (b'{"freewill survey": 1}', "another file"),
        (WHOLE.replace(b"memory 1", b"memory 2", 1), "is of version 2.*update freewill"),
        (WHOLE[:-1], "is damaged"),
        (WHOLE.replace(b'"4"', b'"5"'), "is damaged"),
        (WHOLE.replace(b"\n", b"\r\n"), "does not begin"),
        (b"\xef\xbb\xbf" + WHOLE, "does not begin"),
        (b"x" * (LARGEST_MEMORY + 1), "has more than"),
    ],
)
def test_a_memory_that_is_none_is_an_error_and_stays(path, content, words):
    all_refuse(path, content, words)


def resealed(body):
    checksum = hashlib.sha256(b"freewill memory 1\n" + body).hexdigest()
    return f"freewill memory 1 {checksum}\n".encode() + body


def changed(**fields):
    described = CONTENT.describe()
    described["sent"]["id what-is-it"] |= fields
    return json.dumps(described).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"sent": {}}', b'{"sent": [], "spent": "0"}',
        b'{"sent": {}, "sent": {}, "spent": "0"}', b'{"sent": {}, "spent": 0}',
        b'{"sent": {}, "spent": "-1"}', b'{"sent": {}, "spent": "1/0"}',
        b'{"sent": {}, "spent": "nan"}', b'{"sent": {}, "spent": "' + b"9" * 5000 + b'"}',
        b'{"sent": {"id what-is-it": "4"}, "spent": "0"}',
        changed(value=4), changed(report_id="1"), changed(report_id="A" * 32),
        changed(epsilon="0.1"), changed(more="x"), changed(epsilon=None),
    ],
)  # fmt: skip
def test_what_freewill_never_writes_is_refused_though_sealed(path, body):
    all_refuse(path, resealed(body), "its content is none that freewill writes")


def test_what_another_wrote_is_told(path):
    path.write_bytes(resealed(changed(value="44")))
    for ask in (device(path).row, device(path).report):
        with pytest.raises(DeviceError, match="'44' as a report of k-rr"):
            ask(3)


def test_what_cannot_be_read_is_an_error(path, monkeypatch):
    device(path).row(3)
    real = os.open

    def refuse(name, *rest, **more):
        if str(name) == str(path):
            raise PermissionError(13, "Permission denied", str(name))
        return real(name, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(DeviceError, match="cannot be read: permission denied"):
        device(path).row(3)


def test_what_is_no_file_is_an_error(path):
    path.mkdir()
    with pytest.raises(DeviceError, match=r"cannot be read: is a directory|is no file"):
        device(path).row(3)
    os.mkfifo(path.parent / "pipe")
    with pytest.raises(DeviceError, match="is no file"):
        device(path.parent / "pipe").row(3)
    with pytest.raises(DeviceError, match="cannot be locked: no such file"):
        device(path.parent / "nowhere" / "m").row(3)
    for wrong in (3, "", "a\0b", ["x"], "\ud83d"):
        with pytest.raises(DeviceError, match="expected the name of a file"):
            fw.Memory(wrong)


def test_a_link_leads_to_one_memory(path):
    row = device(path).row(3)
    link = path.with_name("link")
    link.symlink_to(path)
    assert device(link).row(3) == row
    device(link, "another-question").row(3)
    assert link.is_symlink()
    assert len(fw.Memory(path).sent) == 2


def test_a_lock_that_is_a_link_is_not_followed(path):
    target = path.with_name("target")
    path.with_name(".sent.memory.lock").symlink_to(target)
    with pytest.raises(DeviceError, match="cannot be locked"):
        device(path).row(3)
    assert not target.exists()


def test_a_memory_that_is_held_is_waited_for_and_then_an_error(path, monkeypatch):
    monkeypatch.setattr(memories, "_PATIENCE", 0.05)

    def work(content):
        with pytest.raises(DeviceError, match="is held by another process"):
            device(path).row(3)
        return content, None

    fw.Memory(path).update(work)
    device(path).row(3)


def test_threads_with_memories_of_their_own_agree(path):
    rows = []
    threads = [threading.Thread(target=lambda: rows.append(device(path).row(3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 8
    assert rows.count(rows[0]) == 8


def test_a_memory_that_grows_beyond_its_limit_sends_nothing(path, monkeypatch):
    monkeypatch.setattr(memories, "LARGEST_MEMORY", 400)
    row = device(path).row(3)
    with pytest.raises(DeviceError, match=r"Nothing was sent\. Forget old questions first"):
        device(path, "another-question").row(3)
    assert device(path).row(3) == row


def test_without_a_path_it_lives_as_long_as_the_process():
    kept = fw.Memory()
    assert device(kept).row(3) == device(kept).row(4)
    assert list(kept.sent) == ["id what-is-it"]
    with pytest.raises(TypeError):
        kept.sent["id what-is-it"] = SENT
    assert repr(kept) == "Memory()"


def test_amounts_are_written_and_read_exactly():
    for given in (Fraction(0), Fraction(1, 3), Fraction(10**40, 7), float("inf")):
        assert amount(amount_text(given)) == given
