"""The workload `requests`: one run is a sequence of requests to an endpoint."""

from __future__ import annotations

import re
from string import Formatter
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from prumo.errors import InputError, did_you_mean
from prumo.plugins import TARGETS
from prumo.study.plan import is_given, occurring, place
from prumo.study.section import Number, Problem, Section, Text, Truth, WholeNumber, refused
from prumo.study.workload import SystemText, Workload
from prumo_endpoint.serverless import IDLE_SECONDS
from prumo_endpoint.targets import is_image, target_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prumo.study.model import Study
    from prumo.study.section import KeyPath, Level

ExperimentName = Literal[
    "warm-up", "cold-start", "real-time", "closed-loop", "open-loop", "ramp", "burst", "trace"
]
_SERVERLESS_PRICE = re.compile(r"sagemaker/serverless-(\d+)gb@.*")
_INSTANCE_PRICE = re.compile(r"sagemaker/(ml\.[a-z0-9.]+)@.*")
_MB_PER_GB = 1024
_ALWAYS_ON = frozenset({"process", "container"})
_SERVED_BY_PRUMO = frozenset({"process", "serverless"})
"""Targets that a command starts, which Prumo can give itself."""
_OF_SAGEMAKER = ("model", "image", "execution_role", "memory_mb", "instance_type")
"""What says how an endpoint is created; of the last two, one."""
_OF_PRUMOS_SERVER = ("runtime", "stack", "batch_wait_ms")
_OPTIONS = {
    "memory_mb": "memory_mb",
    "cpus": "cpus",
    "cpus_per_gb": "cpus",
    "container_network": "network",
    "max_concurrency": "max_concurrency",
}
"""Parameter → the option of targets by which it is honoured."""
_NEEDED = {"trace": "trace", "open-loop": "rate", "ramp": "goal_seconds"}
"""Experiment → the parameter that it cannot do without."""


def _checked_target(target: str) -> str:
    if target not in TARGETS.names():
        raise refused(f"unknown target '{target}'; {did_you_mean(target, TARGETS.names())}")
    return target


def _checked_policy(text: str) -> str:
    from prumo_endpoint.keep_warm.live import policy_named  # noqa: PLC0415 (few need it)

    try:
        policy_named(text)
    except InputError as error:
        raise refused(str(error)) from error
    return text


class RequestsParameters(Section):
    """The parameters of requests to an endpoint, each a factor or under `fixed`."""

    experiment: ExperimentName
    """When requests are sent; what it does not use of the parameters below has no effect."""
    target: Annotated[Text, AfterValidator(_checked_target)] = "process"
    """Where the model answers: `url`, `process`, `container`, `serverless` (local) or
    `sagemaker`."""
    address: Annotated[SystemText, Field(min_length=1)] | None = None
    """What the target is: a URL, a command, an image or an endpoint's name, with `{parameter}` for
    the value of another parameter. When absent, a command that serves `model` with Prumo."""
    model: Annotated[SystemText, Field(min_length=1)] | None = None
    """A folder or archive of `prumo model package`, relative to the study file, or
    `untrained:NETWORK` for one of the catalog with random weights; `{parameter}` stands for the
    value of another parameter. A local container finds it in /opt/ml/model."""
    network: Text | None = None
    """A label, for `{network}`."""
    precision: Text | None = None
    """A label, for `{precision}`; an `untrained:` model is made in it: fp32, fp16, int8,
    int8-dynamic."""
    image: Text | None = None
    """A label, for `{image}`. Of a SageMaker endpoint that is created: its image in ECR, without a
    registry in the account's own; `{architecture}` is arm64 or amd64, as the instance needs."""
    runtime: Text | None = None
    """What computes the network, where Prumo serves it."""
    stack: Literal["lean", "nginx"] | None = None
    """The server's stack, where Prumo serves the model."""
    batch_wait_ms: Annotated[Number, Field(ge=0)] | None = None
    """How long a batch waits for more images, where Prumo serves the model."""
    memory_mb: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Memory of an instance; a price of `sagemaker/serverless-2gb` implies 2048. A SageMaker
    endpoint with it is serverless."""
    cpus: Annotated[Number, Field(gt=0)] | None = None
    """Processor time of a local server, or of each local instance, in processors. When absent, a
    serverless instance has a share in proportion to its memory and others are not limited."""
    cpus_per_gb: Annotated[Number, Field(gt=0)] | None = None
    """The same for each GB of `memory_mb`; 0.579 for a serverless instance when absent."""
    container_network: Text | None = None
    """Docker's network of a local container, such as `host`; Docker's default when absent."""
    instance_type: Text | None = None
    """A label, for `{instance_type}`; a price of `sagemaker/ml.c5.large` implies it. A SageMaker
    endpoint with it is a real-time one."""
    region: Text | None = None
    """Of SageMaker; when absent, that of the machine's price or of AWS's configuration."""
    execution_role: Text | None = None
    """Of a SageMaker endpoint that is created: an ARN, or the name of a role of the account."""
    bucket: Text | None = None
    """Where its model is uploaded to; when absent, a bucket is created and removed again."""
    max_concurrency: Annotated[WholeNumber, Field(ge=1, le=200)] | None = None
    """The most instances of a serverless endpoint, local or on SageMaker; 5 when absent."""

    requests: Annotated[WholeNumber, Field(ge=1)] | None = None
    """How many count in sequences (25 when absent), cold starts (10) and closed loops (as many as
    their seconds allow); the other experiments have a length of their own."""
    uncounted: Annotated[WholeNumber, Field(ge=0)] | None = None
    """Sent before them; when absent, one in a warm-up and none elsewhere."""
    interval_seconds: Annotated[Number, Field(ge=0)] = 5.0
    """From an answer to the next request in sequences; from burst to burst."""
    idle_seconds: Annotated[Number, Field(ge=0)] = 900.0
    """Before each cold start, where an instance cannot be stopped by force."""
    force_stop: Truth = True
    """Stop instances before a cold start instead of waiting, where the target can."""
    users: Annotated[WholeNumber, Field(ge=1, le=10_000)] = 8
    """Of a closed loop: each waits for an answer before it asks again."""
    rate: Annotated[Number, Field(gt=0, le=1_000_000)] | None = None
    """Requests a second of an open loop; the first one that a ramp tries."""
    arrivals: Literal["poisson", "constant"] = "poisson"
    """Of an open loop and a ramp: independent users, or equal distances."""
    seconds: Annotated[Number, Field(gt=0)] = 30.0
    """How long a closed or open loop lasts, or each rate of a ramp."""
    burst_size: Annotated[WholeNumber, Field(ge=1)] = 10
    """Requests at the same moment."""
    bursts: Annotated[WholeNumber, Field(ge=1)] = 5
    """How many bursts there are."""
    goal_seconds: Annotated[Number, Field(gt=0)] | None = None
    """The latency that a ramp keeps."""
    goal_share: Annotated[Number, Field(gt=0, lt=1)] = 0.95
    """The share of requests that must keep the goal."""
    trace: Annotated[SystemText, Field(min_length=1)] | None = None
    """A CSV file of arrival times, relative to the study file."""
    trace_speed: Annotated[Number, Field(gt=0)] = 1.0
    """How many seconds of the trace pass in one second."""
    keep_warm: Annotated[Text, AfterValidator(_checked_policy)] | None = None
    """What sends pings between the calls of a trace: `never`, `ping:5min`, `schedule:8-18`,
    `hybrid-histogram` or `forecast:50`."""
    idle_timeout_seconds: Annotated[Number, Field(gt=0, le=86_400)] = IDLE_SECONDS
    """After how long without a request an instance is stopped, by the clock of the trace where
    there is one; a local serverless endpoint does so."""
    connections: Annotated[WholeNumber, Field(ge=1, le=10_000)] = 1000
    """Most requests in flight; others wait, and their latency grows."""
    answer_seconds: Annotated[Number, Field(gt=0)] = 60.0
    """A request without an answer by then has failed."""
    stop_after_failures: Annotated[WholeNumber, Field(ge=1)] | None = None
    """Stop when so many requests in a row have failed; when absent, go on to the end."""
    most_lateness_share: Annotated[Number, Field(gt=0)] = 0.1
    """A run is invalid when the generator's own lateness is a greater share of the latency, in the
    mean or at the 99th percentile."""
    seed: Annotated[WholeNumber, Field(ge=0, lt=2**32)] = 1
    """Of random arrivals; replications add to it."""


class Requests(Workload):
    """Send requests to an endpoint and time the answers."""

    kind: Literal["requests"]
    """Says that this workload sends requests."""
    payload: Annotated[SystemText, Field(min_length=1)] | None = None
    """A folder of images, or one file, relative to the study file; else a drawn JPEG is sent."""
    content_type: Text | None = None
    """Of the payload; by the name of each file when absent."""

    parameters = RequestsParameters
    reported_metrics = (
        "latency_seconds",
        "latency_p50_seconds",
        "latency_p95_seconds",
        "latency_p99_seconds",
        "cold_latency_seconds",
        "warm_latency_seconds",
        "answers_per_second",
        "highest_rate",
        "billed_seconds",
    )
    main_metric = "latency_seconds"
    launcher = "prumo_endpoint.launcher:RequestsLauncher"
    sections = "prumo_endpoint.report.sections:SECTIONS"
    billing = MappingProxyType({"of": "inference", "metric": "billed_seconds"})
    advice = "prumo_endpoint.money.answer:advise"
    starter = "prumo_endpoint:starter.yaml"
    no_probe = "sequences of requests are not probed; one finished run is enough to forecast"

    def value_problems(
        self, study: Study, path: KeyPath, name: str, level: Level
    ) -> Iterator[Problem]:
        """Placeholders that stand for nothing."""
        if name not in {"address", "model", "image"}:
            return
        known = set(RequestsParameters.model_fields) - {"address", "model", name}
        if name == "image":
            known.add("architecture")
        try:
            parts = [part for part in Formatter().parse(str(level)) if part[1] is not None]
        except ValueError as error:
            yield Problem(path, f"{level!r}: {error}")
            return
        if name == "address":
            known.add("model")
        for _, placeholder, form, conversion in parts:
            if form or conversion or placeholder not in known:
                hint = did_you_mean(str(placeholder), known)
                yield Problem(path, f"'{{{placeholder}}}' is not a parameter; {hint}")
        del study

    def scenario_problems(self, study: Study) -> Iterator[Problem]:
        """What single scenarios combine that does not go together."""
        found: dict[Problem, None] = {}
        for values in occurring(study, ("experiment", *set(_NEEDED.values()))):
            needed = _NEEDED.get(str(values["experiment"]))
            if needed is not None and values.get(needed) is None:
                message = f"{values['experiment']} needs `{needed}` under `fixed` or `factors`"
                found[Problem(place(study, values, "experiment"), message)] = None
        for values in occurring(study, ("experiment", "target", "address", "model")):
            target = values["target"]
            if values["experiment"] == "cold-start" and target in _ALWAYS_ON:
                message = f"a {target} is started once and stays warm; `target: serverless`"
                found[Problem(place(study, values, "experiment"), message)] = None
            if target == "sagemaker":
                continue
            if values.get("address") is None and (
                values.get("model") is None or target not in _SERVED_BY_PRUMO
            ):
                message = "give the `model` that is served, or the `address` of the target"
                if target not in _SERVED_BY_PRUMO:
                    message = f"a target `{target}` needs an `address`"
                found[Problem(place(study, values, "target"), message)] = None
        found |= dict.fromkeys(_sagemaker_problems(study))
        found |= dict.fromkeys(_unused_problems(study))
        yield from found

    def implied(self, study: Study, name: str, level: Level) -> dict[str, Level]:
        """Memory or instance type, from the price of a machine."""
        machine = study.machines.get(str(level)) if name in {"machine", "environment"} else None
        if machine is None or machine.price is None:
            return {}
        if serverless := _SERVERLESS_PRICE.fullmatch(machine.price):
            return {"memory_mb": int(serverless[1]) * _MB_PER_GB}
        if instance := _INSTANCE_PRICE.fullmatch(machine.price):
            return {"instance_type": instance[1]}
        return {}


def _unused_problems(study: Study) -> Iterator[Problem]:
    """Parameters that a target cannot honour: their figures would be those of something else."""
    names = ("model", *_OF_PRUMOS_SERVER, *_OPTIONS)
    for values in occurring(study, ("target", "address", "image", "instance_type", *names)):
        if values["target"] not in TARGETS.names():
            continue
        for name in names:
            # What the price of a machine implies is a label where it cannot be a limit.
            if is_given(study, name) and values.get(name) is not None:
                reason = _why_unused(name, values)
                if reason:
                    yield Problem(place(study, values, name), reason)
        if values.get("cpus_per_gb") is not None and values.get("cpus") is not None:
            yield Problem(place(study, values, "cpus"), "give `cpus` or `cpus_per_gb`, not both")


def _why_unused(name: str, values: Mapping[str, Level]) -> str:
    """Why a parameter has no effect on the target; empty where it has one."""
    target, address = str(values["target"]), values.get("address")
    texts = [str(values.get(other, "")) for other in ("address", "model", "image") if other != name]
    if any(f"{{{name}}}" in text for text in texts):
        return ""
    if name in _OF_PRUMOS_SERVER:
        is_served = address is None and target in _SERVED_BY_PRUMO
        return "" if is_served else f"`{name}` is of Prumo's server, and this target is another one"
    if target == "sagemaker":
        is_serverless = values.get("instance_type") is None
        is_used = name in {"model", "memory_mb"} or (name == "max_concurrency" and is_serverless)
        return "" if is_used else f"`{name}` cannot be set on this SageMaker endpoint"
    if name == "model":
        is_used = address is None or is_image(target, str(address))
        return "" if is_used else "the `address` does not use it; write `{model}` there"
    return _why_no_option(name, target, values)


def _why_no_option(name: str, target: str, values: Mapping[str, Level]) -> str:
    kind = target_kind(target)
    if _OPTIONS[name] not in kind.options:
        return f"`{name}` does not fit {kind.noun} (target `{target}`)"
    if name == "cpus_per_gb" and values.get("memory_mb") is None and target != "serverless":
        return "`cpus_per_gb` needs `memory_mb`"
    if name == "container_network" and not is_image(target, str(values.get("address", ""))):
        return "`container_network` is of containers, and this is a command"
    return ""


def _sagemaker_problems(study: Study) -> Iterator[Problem]:
    for values in occurring(study, ("experiment", "target", "address", *_OF_SAGEMAKER)):
        if values["target"] == "sagemaker" and values.get("address") is None:
            for message in _missing_of_sagemaker(values):
                yield Problem(place(study, values, "target"), message)


def _missing_of_sagemaker(values: Mapping[str, object]) -> Iterator[str]:
    """What an endpoint that is created needs."""
    for name in _OF_SAGEMAKER[:3]:
        if values.get(name) is None:
            yield f"a SageMaker endpoint that is created needs `{name}`; or give an `address`"
    sizes = [values.get(name) is not None for name in _OF_SAGEMAKER[3:]]
    if sum(sizes) != 1:
        yield (
            "a SageMaker endpoint needs `memory_mb` (serverless) or `instance_type` (real-time), "
            "one of the two; the price of a `machine` can imply it"
        )
    elif sizes[1] and values["experiment"] == "cold-start":
        yield "a real-time endpoint stays warm; cold starts need `memory_mb`"
