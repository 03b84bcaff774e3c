"""Clients that ask one question after the other, and keep count of what became of each."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.raw_connection import connected, post, replies_one_by_one

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from support.raw_connection import Reply
    from support.served_process import ServedProcess

CLIENTS = 8
LOST = "lost"
NOT_LET_IN = "not let in"


class BusyClients:
    """Threads with a connection each, used again as long as the server lets them."""

    def __init__(self, server: ServedProcess, image: bytes, clients: int) -> None:
        self.outcomes: Counter[int | str] = Counter()
        """By status; without an answer a request is lost, or was the first of a connection that the
        system had made and the server not accepted."""
        self._server = server
        self._request = post(image)
        self._is_enough = threading.Event()
        self._counting = threading.Lock()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """After the answers that are under way."""
        self._is_enough.set()
        self.join()

    def join(self) -> None:
        """Wait until nobody is let in any more."""
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        while not self._is_enough.is_set():
            try:
                connection = connected(self._server)
            except ConnectionRefusedError:
                return
            with connection:
                answers = replies_one_by_one(connection)
                is_open = self._ask_once(connection, answers, NOT_LET_IN)
                while is_open and not self._is_enough.is_set():
                    is_open = self._ask_once(connection, answers, LOST)

    def _ask_once(
        self, connection: socket.socket, answers: Iterator[Reply], unanswered: str
    ) -> bool:
        """Whether the connection can be used again."""
        try:
            connection.sendall(self._request)
            answer = next(answers, None)
        except ConnectionError:
            answer = None
        with self._counting:
            self.outcomes[unanswered if answer is None else answer.status] += 1
        return answer is not None and answer.headers.get("connection") != "close"


@contextmanager
def busy_clients(
    server: ServedProcess, image: bytes, clients: int = CLIENTS
) -> Iterator[BusyClients]:
    """They ask from the block's begin to its end."""
    busy = BusyClients(server, image, clients)
    busy.begin()
    try:
        yield busy
    finally:
        busy.end()
