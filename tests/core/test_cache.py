"""Kept laws: solved once, and never believed when damaged, mixed up, poisoned or another's."""

import io
import os
import pickle
import stat
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import freewill as fw
from freewill.core import cache
from freewill.domain.shokri import laws
from freewill.domain.shokri.problem import Problem
from profiles import examples

LINE = fw.Linear(0, 11)
FAR = fw.distances(LINE)


def one_loss():
    return fw.Shokri(LINE, 1.25)


def two_losses():
    return fw.Shokri(LINE, 3.0, report_loss=FAR**2)


both = pytest.mark.parametrize("build", [one_loss, two_losses])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "laws"
    monkeypatch.setenv("FREEWILL_CACHE", str(place))
    return place


def kept(folder, build):
    """Solve, and return the law, its file and the arrays in it."""
    law = build().law()
    (file,) = folder.iterdir()
    with np.load(file) as stored:
        return law, file, dict(stored)


def name_of(file):
    return file.name.removesuffix(".npz")


def forge(file, arrays):
    """Write arrays as the cache would, seal and all."""
    arrays = {key: np.asarray(array) for key, array in arrays.items() if key != "seal"}
    np.savez(file, **arrays, seal=cache._seal(name_of(file), arrays))


@both
def test_a_law_is_solved_once(folder, monkeypatch, build):
    law, _, _ = kept(folder, build)
    monkeypatch.setattr(fw.Shokri, "_solve", None)
    np.testing.assert_array_equal(build().law(), law)
    assert fw.audit(build()).tight


@both
def test_folder_and_file_are_the_users_alone(folder, build):
    _, file, _ = kept(folder, build)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def npz(**arrays):
    written = io.BytesIO()
    np.savez(written, **arrays)
    return written.getvalue()


def bomb():
    """A small file that would unpack to gigabytes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("law.npy", b"0" * (1 << 24))
    return written.getvalue()


DAMAGE = {
    "nothing": lambda whole, arrays: b"",
    "half": lambda whole, arrays: whole[: len(whole) // 2],
    "rubbish": lambda whole, arrays: b"rubbish",
    "the start of an archive": lambda whole, arrays: b"PK\x03\x04rubbish",
    "a pickle": lambda whole, arrays: pickle.dumps(arrays),
    "objects": lambda whole, arrays: npz(**{**arrays, "law": np.array([{"a": 1}], dtype=object)}),
    "other keys": lambda whole, arrays: npz(laws=arrays["law"]),
    "one key more": lambda whole, arrays: npz(**arrays, more=np.zeros(3)),
    "no seal": lambda whole, arrays: npz(**{k: v for k, v in arrays.items() if k != "seal"}),
    "whole numbers": lambda whole, arrays: npz(**{**arrays, "law": np.eye(12, dtype=int)}),
    "complex numbers": lambda whole, arrays: npz(**{**arrays, "law": arrays["law"] + 0j}),
    "single precision": lambda whole, arrays: npz(**{**arrays, "law": np.float32(arrays["law"])}),
    "texts": lambda whole, arrays: npz(**{**arrays, "law": arrays["law"].astype(str)}),
    "a bomb": lambda whole, arrays: bomb(),
    "one array": lambda whole, arrays: (
        whole[whole.index(b"\x93NUMPY") :] if b"\x93NUMPY" in whole else b"\x93NUMPY"
    ),
}


@both
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_absence(folder, build, damage):
    law, file, arrays = kept(folder, build)
    whole = file.read_bytes()
    file.write_bytes(DAMAGE[damage](whole, arrays))
    np.testing.assert_array_equal(build().law(), law)
    assert len(file.read_bytes()) == len(whole)  # written anew


@pytest.mark.slow
@both
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_byte_may_be_wrong(folder, build, data):
    law, file, _ = kept(folder, build)
    whole = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(bytes(whole))
    np.testing.assert_array_equal(build().law(), law)


def vertex(law):
    return fw.Shokri(LINE, 1.0, selection="vertex").law()


POISON = {
    "identity": lambda law: np.eye(12),
    "reversed": lambda law: np.eye(12)[::-1],
    "half of it": lambda law: law / 2,
    "uniform": lambda law: np.full((12, 12), 1 / 12),
    "of another size": lambda law: np.eye(11),
    "negative": lambda law: -law,
    "two rows changed": lambda law: law[[0, 1, 8, *range(3, 8), 2, 9, 10, 11]],
    "columns changed": lambda law: law[:, ::-1],
    "a little truth": lambda law: 0.999 * law + 0.001 * np.eye(12),
    "a little noise": lambda law: 0.999 * law + 0.001 / 12,
    "of another limit": vertex,
    "nan": lambda law: np.where(np.eye(12) == 1, np.nan, law),
    "infinite": lambda law: np.where(np.eye(12) == 1, np.inf, law),
    "rows that are off": lambda law: law * (1 + 1e-9),
}


@pytest.mark.slow
@both
@pytest.mark.parametrize("poison", POISON)
def test_a_sealed_law_that_breaks_the_promise_is_not_believed(folder, build, poison):
    law, file, arrays = kept(folder, build)
    for proof in ({}, {"price": 0.0}, {"price": 1e9}, {"replies": np.eye(12)}):
        forge(
            file,
            {
                **arrays,
                **{k: v for k, v in proof.items() if k in arrays},
                "law": POISON[poison](law),
            },
        )
        again = build()
        np.testing.assert_array_equal(again.law(), law)
        assert fw.audit(again).tight


def test_no_proof_lowers_the_optimum(folder):
    """Replies and price are a proof: any others give a bound, only a larger one."""
    problem: Problem = two_losses().problem
    optimum = two_losses().optimum
    rng = np.random.default_rng(0)
    for _ in range(200):
        replies, price = rng.dirichlet(np.full(12, 0.2), 12), rng.exponential() * rng.integers(0, 2)
        assert problem.upper_bound(replies, price, 3.0) >= optimum * (1 - 1e-9)
    assert problem.upper_bound(np.zeros((12, 12)), -1.0, 3.0) >= optimum * (1 - 1e-9)


def test_another_mechanisms_law_is_not_taken(folder):
    """By name, even where it is as good by the criterion: the selection is part of the law."""
    other = fw.Shokri(LINE, 1.25, selection="vertex")
    other.law()
    (file,) = folder.iterdir()
    content = file.read_bytes()
    law = one_loss().law()
    (own,) = set(folder.iterdir()) - {file}
    own.write_bytes(content)
    np.testing.assert_array_equal(one_loss().law(), law)


@both
@pytest.mark.parametrize("what", ["a folder", "a pipe", "a link", "a loop", "another's", "locked"])
def test_what_is_no_file_of_the_users_own_is_absence(folder, build, what, monkeypatch, tmp_path):
    law, file, _ = kept(folder, build)
    poisoned = tmp_path / "poisoned.npz"
    content = file.read_bytes()
    file.unlink()
    if what == "a folder":
        file.mkdir()
    elif what == "a pipe":
        os.mkfifo(file)
    elif what == "a link":
        poisoned.write_bytes(content)
        file.symlink_to(poisoned)
    elif what == "a loop":
        file.symlink_to(file)
    elif what == "another's":
        file.write_bytes(content)
        file.chmod(0o666)
    else:
        file.write_bytes(content)
        file.chmod(0)
    solved = []
    solve = fw.Shokri._solve
    monkeypatch.setattr(fw.Shokri, "_solve", lambda self: solved.append(1) or solve(self))
    np.testing.assert_array_equal(build().law(), law)
    # Root reads what is locked for everyone else.
    assert solved or (what == "locked" and os.geteuid() == 0)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o722])
def test_a_folder_that_others_may_write_is_not_used(folder, mode, monkeypatch):
    law, _, _ = kept(folder, one_loss)
    folder.chmod(mode)
    monkeypatch.setattr(laws, "max_entropy", lambda *_: law)
    with pytest.warns(UserWarning, match="others may write into this folder"):
        np.testing.assert_allclose(one_loss().law(), law, rtol=1e-12)
    folder.chmod(0o700)


def test_the_default_folder_is_closed_to_others(folder, monkeypatch):
    """An earlier release left it as the system makes folders: for the group to write, on some."""
    monkeypatch.delenv("FREEWILL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    place = folder / "freewill"
    law = one_loss().law()
    place.chmod(0o775)
    monkeypatch.setattr(fw.Shokri, "_solve", None)
    np.testing.assert_array_equal(one_loss().law(), law)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_anothers_folder_is_not_used(folder, monkeypatch):
    law, _, _ = kept(folder, one_loss)
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.warns(UserWarning, match="FREEWILL_CACHE"):
        np.testing.assert_array_equal(one_loss().law(), law)


def test_a_folder_that_is_none_costs_only_time(folder, monkeypatch):
    folder.parent.joinpath("file").write_text("not a folder")
    for path in ("file", "file/below"):
        monkeypatch.setenv("FREEWILL_CACHE", str(folder.parent / path))
        assert fw.audit(one_loss()).holds


def test_a_folder_that_cannot_be_written_costs_only_time(folder):
    folder.mkdir(mode=0o500)
    assert fw.audit(one_loss()).holds


def test_the_default_folder_follows_the_desktop_standard(folder, monkeypatch):
    monkeypatch.delenv("FREEWILL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    assert cache.folder() == folder / "freewill"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder().parts[-2:] == (".cache", "freewill")
