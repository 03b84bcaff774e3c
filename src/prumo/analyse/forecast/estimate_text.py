"""What an estimate says, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.analyse.forecast.estimate import LAYER_SECONDS, PASSES, reached_flops
from prumo.analyse.forecast.forecast_text import DIGITS, estimate_of
from prumo.message import Message, counted, listed
from prumo.quantity import Quantity
from prumo.results.forecast import CONFIDENCE, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.analyse.forecast.estimate import Estimated, PassedOver, Training
    from prumo.machine.accelerator import Accelerator
    from prumo.price.exchange import Exchange
    from prumo.price.price import Price

TERA = 1e12
FLOP_DIGITS = 3


def estimate_sentences(
    training: Training, price: Price, estimated: Estimated, exchange: Exchange | None = None
) -> list[Message]:
    """The answer, what it rests on and what it leaves out."""
    return [
        *_answers(training, price, estimated, exchange),
        _work(training),
        *_grounds(training, price, estimated),
    ]


def _answers(
    training: Training, price: Price, estimated: Estimated, exchange: Exchange | None
) -> Iterator[Message]:
    seconds = estimated.seconds
    values = {
        "network": training.network.name,
        "machine": price.name,
        "value": Quantity(seconds.value, "s", DIGITS),
        "low": Quantity(seconds.low, "s", DIGITS),
        "high": Quantity(seconds.high, "s", DIGITS),
    }
    if estimated.is_rough:
        yield Message(
            "A rough estimate: to train {network} on {machine} takes between {low} and {high}, "
            "perhaps {value}.",
            values,
        )
    else:
        yield Message(
            "To train {network} on {machine} takes {value}, between {low} and {high}.", values
        )
    if estimated.cost is None or estimated.rate is None:
        return
    yield Message(
        "It costs {money}: {rate}.",
        {
            "money": estimate_of(estimated.cost, estimated.rate.currency),
            "rate": estimated.rate.message(),
        },
    )
    if exchange is not None and exchange.base == estimated.rate.currency:
        cost = estimated.cost
        span = Span(
            value=exchange.of(cost.value), low=exchange.of(cost.low), high=exchange.of(cost.high)
        )
        yield Message(
            "That is {money} ({rate}).",
            {"money": estimate_of(span, exchange.currency), "rate": exchange.message()},
        )


def _work(training: Training) -> Message:
    work = training.work
    return Message(
        "The training is {epochs} over {images} of {side} by {side} pixels in batches of {batch}: "
        "{steps} and {flops}, three times the forward ones.",
        {
            "epochs": counted(training.epochs, "epoch"),
            "images": counted(training.images, "image"),
            "side": training.network.input_shape[1],
            "batch": training.batch_size,
            "steps": counted(work.steps, "step"),
            "flops": Quantity(work.training_flops, "FLOP", FLOP_DIGITS),
        },
    )


def _grounds(training: Training, price: Price, estimated: Estimated) -> Iterator[Message]:
    if not estimated.is_rough:
        yield Message(
            "It rests on {runs} measured on such a machine ({machines}), scaled by steps, FLOPs "
            "and bytes; with {percent:.0f} % probability the truth lies in the interval.",
            {
                "runs": counted(estimated.runs, "run"),
                "machines": listed(estimated.machines),
                "percent": 100 * CONFIDENCE,
            },
        )
    elif estimated.accelerator is not None:
        yield from _data_sheet(training, price, estimated.accelerator)
    yield from map(_passed_over, estimated.passed_over)
    if estimated.is_rough:
        yield Message(
            "Results of such a machine, given with --from, would narrow it; so would a short "
            "`prumo run` there."
        )
    if price.accelerator_count > 1:
        yield Message(
            "One of its {count} accelerators works; all of them are paid for.",
            {"count": Quantity(price.accelerator_count)},
        )


def _data_sheet(training: Training, price: Price, accelerator: Accelerator) -> Iterator[Message]:
    least, most = reached_flops(accelerator, training.precision)
    yield Message(
        "Nothing was measured on such a machine. It rests on the data sheet of {name} ({source}): "
        "trainings are taken to reach {least:.3g} to {most:.3g} of its {peak:.3g} TFLOP/s in "
        "{precision}, to move their activations through its memory {fewest} to {often} times, and "
        "to need {quick} to {slow} to start each layer in each step.",
        {
            "name": price.accelerator or counted(int(price.vcpus or 0), "core"),
            "source": accelerator.source,
            "least": least / TERA,
            "most": most / TERA,
            "peak": accelerator.peak_flops(training.precision)[1] / TERA,
            "precision": accelerator.peak_format(training.precision),
            "fewest": PASSES[0],
            "often": PASSES[1],
            "quick": Quantity(LAYER_SECONDS[0], "s", DIGITS),
            "slow": Quantity(LAYER_SECONDS[1], "s", DIGITS),
        },
    )


def _passed_over(passed: PassedOver) -> Message:
    runs = counted(passed.runs, "run")
    if passed.unlike is None:
        return Message(
            "Given with --from but not counted: {runs} without the time of a training.",
            {"runs": runs},
        )
    return Message(
        "Given with --from but not counted: {runs} with {was}, not with {wanted}.",
        {"runs": runs, "was": passed.unlike.was, "wanted": passed.unlike.wanted},
    )
