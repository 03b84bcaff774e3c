"""The size of a training."""

from __future__ import annotations

from prumo.forecast.observation import training_work
from prumo_worker.networks import network

LENET = network("lenet5", image_size=28, channels=1, classes=10)


def test_the_last_batch_of_an_epoch_is_a_step_of_its_own() -> None:
    work = training_work(LENET, images=100, batch_size=32, epochs=3)

    assert work.steps == 4 * 3
    assert work.images == 300


def test_a_training_computes_three_times_its_forward_pass() -> None:
    work = training_work(LENET, images=10, batch_size=5, epochs=1)

    assert work.training_flops == 3 * 10 * LENET.flops


def test_activations_are_what_all_layers_give_out() -> None:
    work = training_work(LENET, images=1, batch_size=1, epochs=1)
    numbers = 0
    for node in LENET.nodes:
        size = 1
        for side in node.output_shape:
            size *= side
        numbers += size

    assert work.activation_bytes == 4 * numbers


def test_warm_up_and_profile_are_steps_besides_the_training() -> None:
    plain = training_work(LENET, images=8, batch_size=8, epochs=1, warmup_steps=3)
    profiled = training_work(LENET, images=8, batch_size=8, epochs=1, warmup_steps=3, profile=True)

    assert (plain.rehearsed_steps, profiled.rehearsed_steps) == (3, 8)
    assert plain.steps == profiled.steps == 1
