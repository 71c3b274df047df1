"""The writer: an answer only after the commit, groups, room for so many, and an end that drains."""

import asyncio
import threading

import pytest

from freewill.collector.answers import RefusedError
from freewill.collector.database import StoreBusyError, StoreFullError
from freewill.collector.surveys import Stored, Upload
from freewill.collector.writer import Writer, today
from service_cases import PATIENCE, until


class Slow:
    """A store whose commits wait until they are let."""

    def __init__(self):
        self.let, self.groups, self.error = threading.Event(), [], None

    def write(self, uploads, day):
        self.groups.append((len(uploads), day))
        self.let.wait(PATIENCE)
        if self.error:
            raise self.error
        return [Stored(len(upload.rows), 0) for upload in uploads]


def upload(rows):
    return Upload("survey", [("row",)] * rows)


def test_nobody_is_answered_before_the_commit_and_all_of_a_group_after_it():
    async def work():
        store = Slow()
        writer = Writer(store, day=lambda: "2026-01-01")
        first = asyncio.create_task(writer.write(upload(1)))
        await until(lambda: store.groups)
        others = [asyncio.create_task(writer.write(upload(2))) for _ in range(5)]
        await until(lambda: writer.waiting == 11)
        assert not any(task.done() for task in (first, *others))
        store.let.set()
        assert await first == Stored(1, 0)
        assert await asyncio.gather(*others) == [Stored(2, 0)] * 5
        # What came during the first commit went into one more.
        assert store.groups == [(1, "2026-01-01"), (5, "2026-01-01")]
        assert writer.waiting == 0
        writer.stop()

    asyncio.run(work())


def test_a_full_queue_is_told_to_come_again_and_grows_no_further():
    async def work():
        store = Slow()
        writer = Writer(store, most_waiting=10)
        tasks = [asyncio.create_task(writer.write(upload(4))) for _ in range(2)]
        await until(lambda: writer.waiting == 8)
        with pytest.raises(RefusedError) as refused:
            await writer.write(upload(4))
        assert refused.value.status == 503
        assert refused.value.headers == {"retry-after": "1"}
        tasks.append(asyncio.create_task(writer.write(upload(2))))
        await until(lambda: writer.waiting == 10)
        store.let.set()
        assert [one.stored for one in await asyncio.gather(*tasks)] == [4, 4, 2]
        # A batch that is larger than the room is let in where nobody waits, for it never would be.
        assert await writer.write(upload(50)) == Stored(50, 0)
        writer.stop()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("error", "status"),
    [(StoreFullError("full"), 507), (StoreBusyError("held"), 503), (KeyError("a bug"), 500)],
)
def test_a_commit_that_fails_is_told_to_all_of_its_group_and_the_next_one_goes_on(error, status):
    async def work():
        store = Slow()
        store.error = error
        store.let.set()
        writer = Writer(store)
        with pytest.raises(RefusedError) as refused:
            await writer.write(upload(1))
        assert refused.value.status == status
        assert "ids" in refused.value.what_to_do
        failing = [writer.failing]
        store.error = None
        assert await writer.write(upload(1)) == Stored(1, 0)
        assert [*failing, writer.failing] == [True, False]
        assert (writer.tally.failures, writer.tally.commits) == (1, 1)
        writer.stop()

    asyncio.run(work())


def test_the_end_writes_what_waits_and_takes_no_more():
    async def work():
        store = Slow()
        writer = Writer(store)
        tasks = [asyncio.create_task(writer.write(upload(1))) for _ in range(3)]
        await until(lambda: writer.waiting == 3)
        ending = asyncio.create_task(asyncio.to_thread(writer.stop))
        await until(lambda: writer._ending)
        with pytest.raises(RefusedError):
            await writer.write(upload(1))
        store.let.set()
        await ending
        assert await asyncio.gather(*tasks) == [Stored(1, 0)] * 3
        writer.stop()  # once more does no harm

    asyncio.run(work())


def test_who_hangs_up_is_written_all_the_same():
    async def work():
        store = Slow()
        writer = Writer(store)
        task = asyncio.create_task(writer.write(upload(1)))
        await until(lambda: store.groups)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.let.set()
        assert await writer.write(upload(1)) == Stored(1, 0)
        assert writer.tally.stored == 2
        assert 0 < writer.tally.seconds < PATIENCE
        writer.stop()

    asyncio.run(work())


def test_a_loop_that_ended_is_no_fault():
    store = Slow()
    made = []

    async def work():
        made.append(Writer(store))
        asyncio.ensure_future(made[0].write(upload(1))).add_done_callback(lambda _: None)
        await until(lambda: store.groups)

    asyncio.run(work())
    store.let.set()
    made[0].stop()
    assert made[0].tally.stored == 1
    assert today().count("-") == 2
