"""The queue of requests: what is computed next, and what is refused."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prumo_serve.server.queue import Job, RequestQueue, abandon, settle
from prumo_serve.server.refusal import Refusal, not_ready
from prumo_serve.server.settings import Limits, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def queue_of(
    *, workers: int = 1, max_batch: int = 8, max_wait_seconds: float = 0.0, queue: int = 256
) -> RequestQueue:
    return RequestQueue(
        Settings(
            Path("model"),
            workers=workers,
            max_batch=max_batch,
            max_wait_seconds=max_wait_seconds,
            limits=Limits(queued_images=queue),
        )
    )


def jobs(count: int, loop: asyncio.AbstractEventLoop) -> list[Job]:
    return [Job(b"", wants_heat_map=False, loop=loop) for _ in range(count)]


def taken(queue: RequestQueue) -> int:
    """How many images the next batch has."""
    task = queue.take()
    assert isinstance(task, list)
    return len(task)


def test_a_single_image_is_computed_at_once(loop: asyncio.AbstractEventLoop) -> None:
    waiting = queue_of()
    waiting.put_ready(jobs(1, loop))

    assert taken(waiting) == 1


def test_what_waits_becomes_a_batch_but_no_larger_than_allowed(
    loop: asyncio.AbstractEventLoop,
) -> None:
    waiting = queue_of(max_batch=4)
    waiting.put_ready(jobs(12, loop))

    assert [taken(waiting), taken(waiting)] == [4, 4]


def test_workers_share_what_waits_and_leave_something_for_their_next_turn(
    loop: asyncio.AbstractEventLoop,
) -> None:
    waiting = queue_of(workers=2, max_batch=8)
    waiting.put_ready(jobs(7, loop))

    assert [taken(waiting) for _ in range(4)] == [2, 2, 1, 1]


def test_workers_that_wait_for_full_batches_take_their_whole_share(
    loop: asyncio.AbstractEventLoop,
) -> None:
    waiting = queue_of(workers=2, max_batch=3, max_wait_seconds=3600)
    waiting.put_ready(jobs(6, loop))

    assert taken(waiting) == 3


def test_decoding_comes_before_computing_until_all_workers_have_full_batches(
    loop: asyncio.AbstractEventLoop,
) -> None:
    waiting = queue_of(workers=2, max_batch=2)
    waiting.put_call(lambda: None)
    waiting.put_ready(jobs(3, loop))

    assert callable(waiting.take())
    waiting.put_call(lambda: None)
    waiting.put_ready(jobs(1, loop))
    assert taken(waiting) == 1


def test_a_batch_waits_for_more_no_longer_than_it_may(loop: asyncio.AbstractEventLoop) -> None:
    waiting = queue_of(max_batch=3, max_wait_seconds=0.05)
    first = jobs(1, loop)
    waiting.put_ready(first)

    assert waiting.take() == first


def test_a_full_batch_waits_for_nothing(loop: asyncio.AbstractEventLoop) -> None:
    waiting = queue_of(max_batch=3, max_wait_seconds=3600)
    waiting.put_ready(jobs(3, loop))

    assert taken(waiting) == 3


def test_images_that_come_while_a_batch_waits_join_it(loop: asyncio.AbstractEventLoop) -> None:
    waiting = queue_of(max_batch=2, max_wait_seconds=3600)
    waiting.put_ready(jobs(1, loop))
    later = threading.Timer(0.05, lambda: waiting.put_ready(jobs(1, loop)))
    later.start()

    assert taken(waiting) == 2


def test_a_batch_is_alone_while_no_other_is_computed_and_no_image_waits(
    loop: asyncio.AbstractEventLoop,
) -> None:
    waiting = queue_of(max_batch=1)
    waiting.reserve(2)
    waiting.put_ready(jobs(2, loop))

    waiting.take()
    with waiting.computing() as first_is_alone:
        waiting.take()
        with waiting.computing() as second_is_alone:
            pass
    waiting.reserve(1)
    waiting.put_ready(jobs(1, loop))
    waiting.take()
    with waiting.computing() as last_is_alone:
        pass

    assert (first_is_alone, second_is_alone, last_is_alone) == (False, False, True)


def test_batches_that_are_taken_before_either_is_computed_are_not_alone(
    loop: asyncio.AbstractEventLoop,
) -> None:
    waiting = queue_of(workers=2, max_batch=1)
    waiting.reserve(2)
    waiting.put_ready(jobs(2, loop))
    waiting.take()
    waiting.take()

    with waiting.computing() as first_is_alone, waiting.computing() as second_is_alone:
        pass
    assert (first_is_alone, second_is_alone) == (False, False)


def test_an_image_that_is_still_being_decoded_is_company(loop: asyncio.AbstractEventLoop) -> None:
    waiting = queue_of()
    waiting.reserve(2)
    waiting.put_ready(jobs(1, loop))
    waiting.take()

    with waiting.computing() as is_alone:
        assert not is_alone


def test_a_batch_that_failed_is_no_company_any_more(loop: asyncio.AbstractEventLoop) -> None:
    waiting = queue_of(max_batch=1)
    waiting.reserve(2)
    waiting.put_ready(jobs(2, loop))
    waiting.take()
    with pytest.raises(ValueError, match="failed"), waiting.computing():
        raise ValueError("failed")

    waiting.take()
    with waiting.computing() as is_alone:
        assert is_alone


def test_more_images_than_places_are_refused_for_now() -> None:
    waiting = queue_of(queue=3)
    waiting.reserve(2)

    with pytest.raises(Refusal, match="2 images wait already") as refused:
        waiting.reserve(2)
    assert refused.value.status == 429
    assert refused.value.headers["retry-after"]
    waiting.release()
    waiting.reserve(2)


def test_a_request_that_could_never_have_places_is_too_large() -> None:
    with pytest.raises(Refusal) as refused:
        queue_of(queue=3).reserve(4)
    assert refused.value.status == 413


def test_places_are_free_again_once_images_are_computed(loop: asyncio.AbstractEventLoop) -> None:
    waiting = queue_of(queue=2)
    waiting.reserve(2)
    waiting.put_ready(jobs(2, loop))
    waiting.take()
    waiting.take()

    waiting.reserve(2)
    assert waiting.waiting_images == 2


def test_a_closed_queue_gives_out_what_is_left_and_then_nothing(
    loop: asyncio.AbstractEventLoop,
) -> None:
    waiting = queue_of(max_wait_seconds=3600)
    waiting.put_ready(jobs(1, loop))
    waiting.put_call(lambda: None)
    waiting.close()

    assert callable(waiting.take())
    assert taken(waiting) == 1
    assert waiting.take() is None


def test_failures_of_a_request_that_has_failed_already_are_not_logged_as_unseen() -> None:
    unseen: list[dict[str, Any]] = []

    async def fail_both() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, told: unseen.append(told))
        both = jobs(2, loop)
        for job in both:
            settle(job, not_ready("the network failed"))
        with pytest.raises(Refusal):
            await both[0].future
        for job in both:
            abandon(job)

    asyncio.run(fail_both())
    gc.collect()

    assert unseen == []
