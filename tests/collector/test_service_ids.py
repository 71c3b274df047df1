"""The ids that a store knows: wherever they lie, whoever wrote them, and whatever was undone."""

import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freewill.collector.database import StoreError
from freewill.collector.ids import Ids, Sieve, from_bytes
from freewill.collector.sqlite import Sqlite
from freewill.collector.store import Store
from profiles import examples
from service_cases import small_places, stored_ids

ENDS = (-(2**63), 2**63 - 1, -1, 0, 1, 2**62, -(2**62))
KEYS = st.one_of(
    st.sampled_from(ENDS),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-4, 4).map(lambda n: n << 60),
)
GROUPS = st.lists(st.tuples(st.integers(0, 1), st.sets(KEYS, max_size=9)), max_size=12)


def array(keys):
    return np.array(list(keys), dtype=np.int64)


def add_and_undo(made, ids, group):
    """Add ids in a transaction that fails."""
    with made.writing():
        ids.refresh()
        ids.add(group)
        raise sqlite3.OperationalError("undone")


def database(folder):
    """Return a new database with the facts that a store has."""
    made = Sqlite(folder / "store.db")
    Store(made)
    return made


@pytest.mark.slow
@examples(60)
@given(groups=GROUPS)
@small_places()
def test_ids_are_known_as_a_naive_set_knows_them(tmp_path_factory, groups):
    """Two processes take turns; each knows what the other wrote."""
    made = database(tmp_path_factory.mktemp("ids"))
    both, kept = (Ids(made), Ids(made)), set()
    for who, group in groups:
        ids = both[who]
        with made.writing():
            ids.refresh()
            assert ids.known(array([*group, *ENDS])) == kept & {*group, *ENDS}
            new = group - kept
            ids.add(array(new))
            kept |= new
        with made.snapshot() as view:
            assert sorted(stored_ids(view)) == sorted(kept)
    with made.writing():
        both[0].refresh()
        both[0].settle()
        both[1].refresh()
        assert both[1].known(array([*kept, *ENDS])) == kept
    with made.snapshot() as view:
        assert not list(view.rows("SELECT id FROM reports UNION ALL SELECT run FROM runs"))
        for bucket, content in view.rows("SELECT bucket, content FROM settled"):
            keys = from_bytes(bytes(content))
            shift = 64 - max(1, (len(kept) // 2).bit_length())
            assert (keys >> shift << shift == bucket).all()
            assert (np.diff(keys.astype(object)) > 0).all()
    made.close()


@given(st.lists(st.integers(0, 9), max_size=30))
@small_places()
def test_however_few_come_at_once_ids_move_on_before_they_are_too_many(tmp_path_factory, groups):
    made = database(tmp_path_factory.mktemp("ids"))
    maker, many = Ids(made), 0
    for size in groups:
        group = array((many + n) * 7919 << 40 for n in range(size))
        many += size
        with made.writing():
            maker.refresh()
            maker.add(group)
        with made.snapshot() as view:
            ((loose,),) = view.rows("SELECT count(*) FROM reports")
            runs = [from_bytes(bytes(run)).size for (run,) in view.rows("SELECT content FROM runs")]
            assert len([*stored_ids(view)]) == many
        # Of `small_places`: 5 at most lie one by one, 12 in runs, and 4 are enough for a run.
        assert loose <= 5
        assert sum(runs) <= 12
        assert all(run >= 4 for run in runs)
    made.close()


@examples(40)
@given(
    groups=st.lists(st.sets(st.integers(-(2**63), 2**63 - 1), max_size=9), max_size=10),
    undone=st.sets(st.integers(0, 9)),
)
@small_places()
def test_what_was_undone_is_forgotten(tmp_path_factory, groups, undone):
    made = database(tmp_path_factory.mktemp("ids"))
    ids, kept = Ids(made), set()
    for number, group in enumerate(groups):
        new = group - kept
        try:
            with made.writing():
                ids.refresh()
                assert not ids.known(array(new))
                ids.add(array(new))
                if number in undone:
                    raise sqlite3.OperationalError("undone")
        except StoreError:
            continue
        kept |= new
        with made.writing():
            ids.refresh()
            assert ids.known(array(set().union(*groups))) == kept
    made.close()


@small_places()
def test_buckets_of_as_many_others_are_not_taken_for_those_that_were_undone(tmp_path):
    """One process settles and fails; another one settles as many ids, but others."""
    made = database(tmp_path)
    one, other = Ids(made), Ids(made)
    ours, theirs = np.random.default_rng(2).integers(-(2**63), 2**63, (2, 14))
    with pytest.raises(StoreError, match="undone"):
        add_and_undo(made, one, ours)
    with made.writing():
        other.refresh()
        other.add(theirs)
    with made.writing():
        one.refresh()
        assert one.known(np.array([*ours, *theirs])) == {*theirs.tolist()}
    with made.snapshot() as view:
        assert len(list(view.rows("SELECT bucket FROM settled"))) > 1
    made.close()


@pytest.mark.slow
def test_many_ids_at_their_real_sizes_pass_through_all_places(tmp_path):
    rng = np.random.default_rng(0)
    made = database(tmp_path)
    ids, everyone = Ids(made), rng.integers(-(2**63), 2**63, 1_000_000)
    sizes = [1, 100, 900] * 30 + [5_000, 50_000, 200_000]
    start = 0
    for size in [*sizes, *sizes]:
        with made.writing():
            ids.refresh()
            ids.add(everyone[start : start + size])
            # One that came before, anywhere.
            before = rng.integers(start + size)
            again = everyone[np.append(np.arange(start + size, start + 2 * size), before)]
            assert ids.known(again) == {int(everyone[before])}
        start += size
    with made.snapshot() as view:
        assert sorted(stored_ids(view)) == sorted(everyone[:start].tolist())
        ((settled, largest),) = view.rows("SELECT count(*), max(length(content)) FROM settled")
        assert settled >= 2**18 / 1024
        assert largest < 8 * 1400  # 1,024 at most on average, and 11 standard deviations
    made.close()


def test_a_sieve_lets_nothing_fall_that_was_put_in_and_little_else_pass():
    rng = np.random.default_rng(1)
    sieve, keys = Sieve(), rng.integers(-(2**63), 2**63, 2_000_000)
    sieve.add(keys[:500_000])
    sieve.add(keys[500_000:1_000_000])
    assert sieve.passed(keys[:1_000_000]).all()
    passed = int(sieve.passed(keys[1_000_000:]).sum())
    share = (1 - np.exp(-1e6 / 2**25)) ** 2
    assert abs(passed - 1e6 * share) < 5 * np.sqrt(1e6 * share)
    assert not Sieve().passed(keys).any()
    assert sieve.passed(np.empty(0, dtype=np.int64)).shape == (0,)
