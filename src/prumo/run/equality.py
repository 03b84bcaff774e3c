"""Ask every framework of a study what it makes of every network, and compare the answers."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prumo.environments.store import worker_path
from prumo.errors import StorageError, UnavailableError, UnequalError
from prumo.files import write_json
from prumo.machine.cpu import read_cpu
from prumo.results.equality import (
    PROOFS_FOLDER,
    Answer,
    Equality,
    FrameworkEquality,
    NetworkEquality,
    NoAnswer,
    ProofState,
    read_equality,
    read_proof,
    write_equality,
)
from prumo.results.folder import JOURNAL_FILE, TASK_FILE
from prumo.run.worker import Environments, Limits, started_worker, worker_launch
from prumo.statistics.equality import TOLERANCES, compared, nearest
from prumo.study.network import Architecture, built
from prumo_worker.networks import NAMES
from prumo_worker.networks.definition import network_documents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.environments.store import Environment
    from prumo.progress import Progress
    from prumo.study import Study
    from prumo.study.network import Frameworks
    from prumo_worker.networks import Network

# Ours, far above what any of Prumo's networks takes on two cores.
PROOF_SECONDS = 1800.0


def check_equality(
    study: Study,
    wanted: Frameworks,
    results: Path,
    progress: Progress,
) -> Equality:
    """Check these architectures in these frameworks and keep the outcome in the results folder.

    Frameworks of an earlier check are compared again with these. Proofs that are there already,
    from the same environments and the same worker, are kept.
    """
    environments = Environments(study.versions, progress)
    limit_seconds = study.measure.timeout_seconds or PROOF_SECONDS

    def outcome(question: Question) -> Answer | NoAnswer:
        try:
            environment = environments.find(question.framework)
        except UnavailableError as error:
            return NoAnswer(question.framework, str(error), refused=True)
        progress.show(f"{question.architecture.title} in {question.framework}")
        return prove(question, environment, results / PROOFS_FOLDER, limit_seconds)

    earlier = read_equality(results)
    networks = []
    for architecture, frameworks in wanted.items():
        known = earlier.frameworks_of(architecture) if earlier else ()
        names = dict.fromkeys([*frameworks, *known])
        progress.say(f"checking {architecture.title} in {', '.join(names)}")
        own = study.own_network(architecture.network)
        layers = own.layers if own else None
        parameters = built(architecture, own).parameters
        outcomes = [outcome(Question(name, architecture, layers)) for name in names]
        networks.append(_compared(architecture, parameters, outcomes))
    equality = Equality(tolerances=TOLERANCES, networks=tuple(networks))
    write_equality(results, equality.merged(earlier))
    return equality


def _compared(
    architecture: Architecture, parameters: int, outcomes: Sequence[Answer | NoAnswer]
) -> NetworkEquality:
    answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
    reference = nearest(answers) if len(answers) > 1 else None
    return NetworkEquality(
        **asdict(architecture),
        parameters=parameters,
        reference=reference.framework if reference else "",
        learning_rate=reference.learning_rate if reference else None,
        frameworks=tuple(_row(outcome, reference, parameters) for outcome in outcomes),
    )


def _row(
    outcome: Answer | NoAnswer, reference: Answer | None, parameters: int
) -> FrameworkEquality:
    if isinstance(outcome, NoAnswer):
        return FrameworkEquality(
            framework=outcome.framework,
            state=ProofState.REFUSED if outcome.refused else ProofState.FAILED,
            findings=(outcome.reason,),
        )
    row = compared(outcome, reference or outcome, parameters)
    if reference is None and row.state is ProofState.EQUAL:
        return row.model_copy(update={"state": ProofState.ALONE, "score_difference": None})
    return row


def build(net: Network, framework: str, progress: Progress) -> Answer:
    """Make the framework build the network and compute with it; an error says why it does not."""
    channels, image_size, _ = net.input_shape
    architecture = Architecture(net.name, image_size, channels, net.classes)
    layers = None if net.name in NAMES else network_documents(net)
    environment = Environments({}, progress).find(framework)
    with tempfile.TemporaryDirectory(prefix="prumo-check-") as folder:
        answer = prove(Question(framework, architecture, layers), environment, Path(folder))
    if isinstance(answer, NoAnswer):
        raise UnavailableError(f"{framework} does not build {net.name}: {answer.reason}")
    if answer.parameters != net.parameters:
        raise UnequalError(
            f"{framework} builds {net.name} with {answer.parameters:,} parameters, "
            f"not with {net.parameters:,}"
        )
    return answer


@dataclass(frozen=True)
class Question:
    """An architecture in a framework."""

    framework: str
    architecture: Architecture
    layers: Sequence[Any] | None = None
    """Of a network that Prumo does not bring itself."""


def prove(
    question: Question,
    environment: Environment,
    proofs: Path,
    limit_seconds: float = PROOF_SECONDS,
) -> Answer | NoAnswer:
    """Ask a worker; an answer to the same question in the folder of proofs is taken as it is."""
    task = _task(question)
    folder = proofs / _name(question, task, environment)
    known = read_proof(folder, question.framework)
    if isinstance(known, Answer) or (known and known.refused):
        return known
    launch = worker_launch(environment, {**task, "journal": str(folder / JOURNAL_FILE)}, folder)
    with StorageError.writing(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_json(folder / TASK_FILE, launch.task)
    with started_worker(launch, folder, Limits(timeout_seconds=limit_seconds)) as worker:
        ending = worker.wait()
    if ending.cause == "timeout":
        return NoAnswer(question.framework, f"took longer than {limit_seconds:g} s", refused=False)
    how = f"signal {ending.signal}" if ending.signal else f"exit code {ending.exit_code}"
    reason = f"its worker ended without an answer: {ending.failure or how}"
    return read_proof(folder, question.framework) or NoAnswer(
        question.framework, reason, refused=False
    )


def _task(question: Question) -> dict[str, Any]:
    task: dict[str, Any] = {
        "run": "check",
        "kind": "check",
        "parameters": {"framework": question.framework, **asdict(question.architecture)},
        "warmup_steps": 0,
        "threads": read_cpu().usable_cores,
    }
    return task if question.layers is None else {**task, "layers": list(question.layers)}


def _name(question: Question, task: dict[str, Any], environment: Environment) -> str:
    """A folder's name that changes with the question, the environment and Prumo's worker."""
    asked = json.dumps([task, environment.name, worker_path().name], sort_keys=True)
    mark = hashlib.sha256(asked.encode()).hexdigest()[:8]
    words = [question.framework, question.architecture.network]
    plain = [re.sub(r"[^A-Za-z0-9.]+", "-", word) for word in words]
    return "-".join([*plain, str(question.architecture.image_size), mark])
