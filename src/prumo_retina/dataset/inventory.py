"""Everything that is known of every input, brought together for the manifest."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prumo_retina.dataset.data_folder import IMAGES_FOLDER
from prumo_retina.dataset.labels import Label
from prumo_retina.dataset.manifest import Entry
from prumo_retina.fundus.quality import Verdict
from prumo_retina.grade import Grade

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prumo_retina.dataset.duplicates import Duplicate
    from prumo_retina.dataset.finding import Finding
    from prumo_retina.dataset.labelling import Labelling

_NO_LABEL = Label(image="")


@dataclass(frozen=True)
class Known:
    """What is known of photographs, from several sides."""

    findings: Mapping[str, Finding]
    """By the photograph's path, in the order of the manifest."""
    labelling: Labelling
    duplicates: Sequence[Duplicate]
    pseudonyms: Mapping[str, str]
    """Of the patient, by the photograph's path."""
    running_names: Mapping[str, str]
    """Instead of paths, where these are not to be told."""


@dataclass(frozen=True)
class Inventory:
    """The rows of a manifest, and what is wrong in them."""

    photographs: tuple[Entry, ...]
    labels_alone: tuple[Entry, ...]
    """Labels for which there is no photograph."""
    problems: Mapping[str, tuple[str, ...]]
    """By kind, each as the input and the reason."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All rows."""
        return self.photographs + self.labels_alone

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many photographs have each, the best first."""
        counts = Counter(entry.verdict for entry in self.photographs)
        return {verdict: counts[verdict] for verdict in reversed(Verdict) if counts[verdict]}

    @property
    def grades(self) -> dict[Grade | None, int]:
        """How many photographs have each; None stands for those without."""
        counts = Counter(entry.grade for entry in self.photographs)
        return {grade: counts[grade] for grade in (*Grade, None) if counts[grade]}

    @property
    def patients(self) -> int:
        """How many different ones are known."""
        return len({entry.patient for entry in self.photographs} - {""})


def take_inventory(known: Known) -> Inventory:
    """One row for each photograph and for each label that has none."""
    originals = {duplicate.image: duplicate.of for duplicate in known.duplicates}
    conflicts = _conflicts(known, originals)
    photographs = tuple(
        _photograph(path, known, originals.get(finding.name, ""), conflicts.get(finding.name, ""))
        for path, finding in known.findings.items()
    )
    labels_alone = tuple(_label_alone(label, known) for label in known.labelling.without_photograph)
    problems = _problems(known, photographs, labels_alone, conflicts)
    return Inventory(photographs, labels_alone, problems)


def _photograph(path: str, known: Known, original: str, conflict: str) -> Entry:
    finding, label = known.findings[path], known.labelling.labels.get(path, _NO_LABEL)
    reasons = [finding.reason, label.problem, known.labelling.notes.get(path, ""), conflict]
    return Entry(
        input=known.running_names.get(path, path),
        output=f"{IMAGES_FOLDER}/{finding.name}.jpg" if finding.output_bytes else "",
        sha256=finding.sha256,
        width=finding.width,
        height=finding.height,
        circle=finding.circle,
        verdict=finding.verdict,
        reason="; ".join(filter(None, reasons)),
        grade=label.grade,
        patient=known.pseudonyms.get(path, ""),
        eye=label.eye or finding.eye,
        camera=label.camera or finding.camera,
        site=label.site,
        duplicate_of=original,
    )


def _label_alone(label: Label, known: Known) -> Entry:
    return Entry(
        input=known.running_names.get(label.image, label.image),
        verdict=Verdict.MISSING,
        reason=label.problem,
        grade=label.grade,
    )


def _conflicts(known: Known, originals: Mapping[str, str]) -> dict[str, str]:
    """Of each image whose duplicates have other grades: which they have."""
    groups: dict[str, dict[str, int]] = defaultdict(dict)
    for path, finding in known.findings.items():
        grade = known.labelling.labels.get(path, _NO_LABEL).grade
        if grade is not None:
            groups[originals.get(finding.name, finding.name)][finding.name] = grade
    return {
        name: f"the same photograph has the grades {', '.join(map(str, sorted(grades)))}"
        for group in groups.values()
        if len(grades := set(group.values())) > 1
        for name in group
    }


def _problems(
    known: Known,
    photographs: Iterable[Entry],
    labels_alone: Iterable[Entry],
    conflicts: Mapping[str, str],
) -> dict[str, tuple[str, ...]]:
    kinds: dict[str, list[str]] = defaultdict(list)
    for (path, finding), entry in zip(known.findings.items(), photographs, strict=True):
        if finding.verdict is Verdict.UNREADABLE:
            kinds["not readable"].append(f"{entry.input}: {finding.reason}")
        if note := known.labelling.notes.get(path):
            kinds["photographs without a label"].append(f"{entry.input}: {note}")
        if problem := known.labelling.labels.get(path, _NO_LABEL).problem:
            kinds["labels with a mistake"].append(f"{entry.input}: {problem}")
        if conflict := conflicts.get(finding.name):
            kinds["duplicates with different grades"].append(f"{entry.input}: {conflict}")
    for entry in labels_alone:
        kinds["labels without a photograph"].append(f"{entry.input}: {entry.reason}")
    return {kind: tuple(examples) for kind, examples in kinds.items()}
