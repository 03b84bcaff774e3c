"""Ask every framework of a study what it makes of every network, and compare the answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from prumo.errors import UnavailableError
from prumo.results.equality import (
    PROOFS_FOLDER,
    Answer,
    Equality,
    FrameworkEquality,
    NetworkEquality,
    NoAnswer,
    ProofState,
    read_equality,
    write_equality,
)
from prumo.run.proof import PROOF_SECONDS, Question, prove
from prumo.run.worker import Environments
from prumo.statistics.equality import TOLERANCES, compared, nearest
from prumo_worker.networks import network

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo.study import Study
    from prumo.study.network import Architecture

SEVERAL = 2


def compared_frameworks(
    planned: Mapping[Architecture, Sequence[str]], trained: Mapping[Architecture, Sequence[str]]
) -> dict[Architecture, tuple[str, ...]]:
    """The planned architectures that, with what was trained before, several frameworks train."""
    together = {
        architecture: tuple(dict.fromkeys([*frameworks, *trained.get(architecture, ())]))
        for architecture, frameworks in planned.items()
    }
    return {
        architecture: frameworks
        for architecture, frameworks in together.items()
        if len(frameworks) >= SEVERAL
    }


def check_equality(
    study: Study,
    wanted: Mapping[Architecture, Sequence[str]],
    results: Path,
    progress: Progress,
) -> Equality:
    """Check these architectures in these frameworks and keep the outcome in the results folder.

    Frameworks of an earlier check are compared again with these. Proofs that are there already,
    from the same environments and the same worker, are kept.
    """
    check = _Check(study, results, progress)
    earlier = read_equality(results)
    networks = tuple(
        check.network(architecture, _with_earlier(architecture, frameworks, earlier))
        for architecture, frameworks in wanted.items()
    )
    equality = Equality(tolerances=TOLERANCES, networks=networks)
    write_equality(results, equality.merged(earlier))
    return equality


def _with_earlier(
    architecture: Architecture, frameworks: Sequence[str], earlier: Equality | None
) -> tuple[str, ...]:
    known = earlier.frameworks_of(architecture) if earlier else ()
    return tuple(dict.fromkeys([*frameworks, *known]))


class _Check:
    def __init__(self, study: Study, results: Path, progress: Progress) -> None:
        self._study = study
        self._proofs = results / PROOFS_FOLDER
        self._progress = progress
        self._environments = Environments(study.versions, progress)

    def network(self, architecture: Architecture, frameworks: Sequence[str]) -> NetworkEquality:
        """One architecture in all its frameworks."""
        self._progress.say(f"checking {architecture.title} in {', '.join(frameworks)}")
        own = self._study.own_network(architecture.network)
        layers = own.layers if own else None
        build = own.build if own else partial(network, architecture.network)
        parameters = build(
            architecture.image_size, architecture.channels, architecture.classes
        ).parameters
        outcomes = [self._outcome(Question(name, architecture, layers)) for name in frameworks]
        answers = [outcome for outcome in outcomes if isinstance(outcome, Answer)]
        reference = nearest(answers) if len(answers) >= SEVERAL else None
        return NetworkEquality(
            network=architecture.network,
            image_size=architecture.image_size,
            channels=architecture.channels,
            classes=architecture.classes,
            parameters=parameters,
            reference=reference.framework if reference else "",
            learning_rate=reference.learning_rate if reference else None,
            frameworks=tuple(_row(outcome, reference, parameters) for outcome in outcomes),
        )

    def _outcome(self, question: Question) -> Answer | NoAnswer:
        try:
            environment = self._environments.find(question.framework)
        except UnavailableError as error:
            return NoAnswer(question.framework, str(error), refused=True)
        self._progress.show(f"{question.architecture.title} in {question.framework}")
        limit_seconds = self._study.measure.timeout_seconds or PROOF_SECONDS
        return prove(question, environment, self._proofs, limit_seconds)


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
