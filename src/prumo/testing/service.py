"""The contracts of the entry points in `prumo.targets` and `prumo.price_sources`."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from http.client import HTTPConnection, HTTPException
from types import SimpleNamespace
from typing import Any, ClassVar

from prumo.errors import InputError, PrumoError
from prumo.money.price import Price
from prumo.money.sources import FetchingSource, PriceSource, find_source
from prumo.money.sources.documents import Document, Origin
from prumo.plugins import PRICE_SOURCES
from prumo.testing.require import derives_from, refusal, require

BASE = "prumo_endpoint.targets.Target"
OPTIONS = {
    "port",
    "model",
    "memory_mb",
    "network",
    "cpus",
    "cpus_per_gb",
    "idle_seconds",
    "max_concurrency",
}
NO_OPTIONS = SimpleNamespace(**dict.fromkeys(OPTIONS))
HEALTHY = 200
_POLL_SECONDS = 0.05


class TargetContract:
    """A target: how it is named, started, reached, observed and stopped.

    class TestMine(TargetContract):
        kind = MyTarget

        def target(self):
            return MyTarget.from_words(["model.tar.gz"], TargetOptions())
    """

    kind: ClassVar[type[Any]]
    """What the entry point names."""
    ready_seconds: ClassVar[float] = 60.0
    """How long a start may take."""
    stop_seconds: ClassVar[float] = 30.0

    def target(self) -> Any:  # noqa: ANN401 (a Target: products are not imported here)
        """A target that can be started in the test and answers 200 to GET /ping."""
        raise NotImplementedError

    def test_it_is_a_kind_of_target(self) -> None:
        """What the command line asks of it before one is made."""
        require(derives_from(self.kind, BASE), f"the entry point names a class derived from {BASE}")
        require(self.kind.noun.strip(), '`noun` says what one is called, such as "a command"')
        unknown = set(self.kind.options) - OPTIONS
        require(not unknown, f"`options` are among {sorted(OPTIONS)}: {sorted(unknown)} are not")

    def test_words_that_name_none_are_refused(self) -> None:
        """A mistake on the command line is an error for people."""
        with refusal(PrumoError, contract="`from_words` refuses no words with an InputError"):
            self.kind.from_words([], NO_OPTIONS)

    def test_it_has_a_name(self) -> None:
        """Reports name what was checked."""
        name = self.target().name
        require(isinstance(name, str) and name.strip(), "`name` is what the user calls it")

    def test_it_answers_while_it_runs_and_is_gone_afterwards(self) -> None:
        """From start to stop."""
        with self.target().running() as server:
            self._wait_until_ready(server)
            is_ours = server.process is not None or server.instances is not None
            address = server.address
        if is_ours:
            contract = "after the block, nothing that was started is left to answer"
            self._wait(lambda: not _accepts(address), self.stop_seconds, contract)

    def test_its_process_can_be_observed_and_stopped(self) -> None:
        """For a server that was started: everything that rules about start and stop need."""
        with self.target().running() as server:
            process = server.process
            if process is None:
                return
            require(process.start_error == "", f"it starts: {process.start_error}")
            self._wait_until_ready(server)
            require(process.ending() is None, "`ending` is None while the server runs")
            require(isinstance(process.program, str), "`program` is a name, or empty")
            require(isinstance(process.last_output(), str), "`last_output` is text")
            ports = [address.port for address in process.addresses()]
            require(
                not ports or server.port in ports,
                f"`addresses` has the port where it listens, {server.port}: {ports}",
            )
            process.terminate()
            contract = "after `terminate`, `ending` says how the process ended"
            self._wait(lambda: bool(process.ending()), self.stop_seconds, contract)

    def test_instances_that_start_on_demand_are_counted(self) -> None:
        """For a server that stops when idle: cold starts can be caused and told apart."""
        with self.target().running() as server:
            instances = server.instances
            if instances is None:
                return
            self._wait_until_ready(server)
            before = [boot.boot_id for boot in instances.boots()]
            require(before, "a request to a stopped server causes a boot")
            instances.stop_idle()
            self._wait_until_ready(server)
            boots = instances.boots()
            identifiers = [boot.boot_id for boot in boots]
            require(
                identifiers[: len(before)] == before and len(identifiers) > len(before),
                "the request after `stop_idle` causes another boot; `boots` has the oldest first",
            )
            require(len(set(identifiers)) == len(identifiers), "every boot has its own boot_id")
            require(
                all(
                    boot.cold_start_seconds is None or boot.cold_start_seconds > 0 for boot in boots
                ),
                "`cold_start_seconds` is a time, or None where it is not known",
            )

    def _wait_until_ready(self, server: Any) -> None:  # noqa: ANN401 (a Server, as above)
        self._wait(
            lambda: _ping_status(server.address) == HEALTHY,
            self.ready_seconds,
            f"GET /ping answers {HEALTHY} at `address` within {self.ready_seconds:g} s",
        )

    @staticmethod
    def _wait(holds: Callable[[], bool], seconds: float, contract: str) -> None:
        until = time.monotonic() + seconds
        while not holds():
            require(time.monotonic() < until, contract)
            time.sleep(_POLL_SECONDS)


def _accepts(address: Any) -> bool:  # noqa: ANN401 (an Address, as above)
    try:
        socket.create_connection((address.host, address.port), 1.0).close()
    except OSError:
        return False
    return True


def _ping_status(address: Any) -> int | None:  # noqa: ANN401 (an Address, as above)
    connection = HTTPConnection(address.host, address.port, timeout=10.0)
    try:
        connection.request("GET", f"{address.prefix}/ping")
        return connection.getresponse().status
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


HEAD_CHARACTERS = 4096
FOREIGN_TEXTS = ("", "{}", "[]", "name,age\nAda,36\n", "name: a study\nworkload: {kind: command}\n")
DAY = date(2026, 11, 14)


class PriceSourceContract:
    """A price source: how its files are recognised and read.

    class TestMine(PriceSourceContract):
        source = MyCloudPrices()
        sample = '{"my_cloud_prices": [...]}'
    """

    source: ClassVar[PriceSource]
    """What the entry point names; an instance where it names a class."""
    sample: ClassVar[str | Sequence[str]]
    """A price list, or the documents that together are one."""
    document_name: ClassVar[str] = "list"
    """The file name of the sample, for sources that read something from it."""

    def test_it_has_what_a_price_source_has(self) -> None:
        """Its interface is whole."""
        require(
            isinstance(self.source, PriceSource),
            "a price source has `title`, `recognises(head)` and `read(documents, origin)`",
        )
        require(self.source.title.strip(), "`title` says what its files are")

    def test_it_recognises_its_own_files_alone(self) -> None:
        """At most one source may claim a file."""
        head = self._texts()[0][:HEAD_CHARACTERS]
        require(self.source.recognises(head) is True, "it recognises how its own files begin")
        for text in FOREIGN_TEXTS:
            require(
                self.source.recognises(text) is False,
                f"it recognises only its own files, not one that begins {text!r}",
            )
        claimed = [
            name
            for name in PRICE_SOURCES.names()
            if type(find_source(name)) is not type(self.source)
            and find_source(name).recognises(head)
        ]
        require(not claimed, f"no other installed source claims the same file: {claimed}")

    def test_it_reads_prices(self) -> None:
        """Every price names what, where, how much, when and from whom."""
        prices = self._read(self._texts())
        require(prices, "the sample has at least one price")
        for price in prices:
            require(isinstance(price, Price), f"it yields prumo.money.price.Price, not {price!r}")
            require(
                price.on_demand is not None or price.spot is not None,
                f"{price.name} has an amount, `on_demand` or `spot`",
            )
            require(price.as_of, f"{price.name} is dated: by the list, or by origin.as_of")
            require(price.source, f"{price.name} says in `source` where it comes from")

    def test_it_reads_the_same_twice(self) -> None:
        """Reading keeps no state."""
        first, second = self._read(self._texts()), self._read(self._texts())
        require(first == second, "reading the same documents twice gives the same prices")

    def test_a_file_of_another_kind_is_refused(self) -> None:
        """What is not such a list gives an error for people, or no price."""
        for text in ("no list at all\n", '{"cut": ["off'):
            try:
                found = self._read([text])
            except InputError:
                continue
            except Exception as error:
                raise AssertionError(
                    f"a document that it cannot read is refused with prumo.errors.InputError, "
                    f"which names it, not with {type(error).__name__}: {error}"
                ) from error
            require(not found, "no price is found in a document that is no price list")

    def test_fetching_says_for_whom(self) -> None:
        """A source with `fetch` names the providers that it is asked for by default."""
        if hasattr(self.source, "fetch"):
            require(
                isinstance(self.source, FetchingSource)
                and all(isinstance(name, str) for name in self.source.default_for),
                "a source with `fetch` has `default_for`, a tuple of provider names",
            )

    def _texts(self) -> list[str]:
        return [self.sample] if isinstance(self.sample, str) else list(self.sample)

    def _read(self, texts: Iterable[str]) -> list[Price]:
        documents = [Document(self.document_name, io.StringIO(text)) for text in texts]
        return list(self.source.read(documents, Origin("mine", DAY)))
