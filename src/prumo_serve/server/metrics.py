"""What the server counts and times for Prometheus, in seconds and bytes."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.process_collector import ProcessCollector

if TYPE_CHECKING:
    from prumo_serve.server.log import RequestRecord
    from prumo_serve.server.queue import Outcome

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Names the folder in which the processes of a stack share their counts."""
_REQUEST_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_PHASE_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_BATCH_IMAGES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The counts of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        self._requests = counter(
            "prumo_requests", "Requests that were answered.", ["route", "method", "status"]
        )
        self._request_seconds = histogram(
            "prumo_request_seconds",
            "From a request's headers to the end of its answer.",
            ["route"],
            buckets=_REQUEST_SECONDS,
        )
        body_bytes = counter(
            "prumo_body_bytes", "Bytes of bodies, received and sent.", ["direction"]
        )
        self._received, self._sent = (body_bytes.labels(name) for name in ("received", "sent"))
        phases = histogram(
            "prumo_phase_seconds",
            "What an image spent in decode, preprocess, queue and predict.",
            ["phase"],
            buckets=_PHASE_SECONDS,
        )
        self._decode, self._preprocess, self._queue, self._predict = (
            phases.labels(name) for name in ("decode", "preprocess", "queue", "predict")
        )
        self._batch_images = histogram(
            "prumo_batch_images",
            "Images that were computed together, seen by each of them.",
            buckets=_BATCH_IMAGES,
        )
        self._threads = counter(
            "prumo_images",
            "Images that the network judged, by how many threads worked on their batch.",
            ["threads"],
        )
        self._is_ready = gauge(
            "prumo_ready",
            "1 where the server answers well, 0 where it does not.",
            multiprocess_mode="livemin",
        )
        self._waiting_images = gauge(
            "prumo_waiting_images", "Images in the queue.", multiprocess_mode="livesum"
        )
        ProcessCollector(registry=self._registry)

    def count_request(self, record: RequestRecord) -> None:
        """A request has been answered."""
        self._requests.labels(record.route, record.method, str(record.status)).inc()
        self._request_seconds.labels(record.route).observe(record.seconds)
        self._received.inc(record.received_bytes)
        self._sent.inc(record.sent_bytes)

    def count_image(self, outcome: Outcome) -> None:
        """An image has been judged."""
        self._decode.observe(outcome.prepared.decode_seconds)
        self._preprocess.observe(outcome.prepared.preprocess_seconds)
        self._queue.observe(outcome.queue_seconds)
        if outcome.batch_size:
            self._predict.observe(outcome.predict_seconds)
            self._batch_images.observe(outcome.batch_size)
            self._threads.labels(str(outcome.threads)).inc()

    def text(self, *, is_ready: bool, waiting_images: int) -> bytes:
        """Everything, as Prometheus reads it; of all processes that share their counts."""
        self._is_ready.set(is_ready)
        self._waiting_images.set(waiting_images)
        registry = self._registry
        if os.environ.get(MULTIPROCESS_VARIABLE):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call] # it has no types
        return generate_latest(registry)
