"""Prepare a folder of photographs: find, label, cut out, judge, compare, write the manifest."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from prumo.datasets.source import in_threads
from prumo.errors import DataError, InputError
from prumo.progress import SILENT, ProgressCounter
from prumo_retina.dataset.data_folder import IMAGES_FOLDER, DataFolder, write_table
from prumo_retina.dataset.finding import (
    find,
    find_duplicates,
    read_findings,
    written_findings,
)
from prumo_retina.dataset.folder import (
    Key,
    find_photographs,
    read_key,
    with_numbers,
    with_own_names,
    with_unread_kinds,
    write_key,
)
from prumo_retina.dataset.labelling import find_labels
from prumo_retina.dataset.labels import Columns, Label
from prumo_retina.dataset.manifest import MANIFEST_FILE, Entry, write_manifest
from prumo_retina.fundus.preparation import Preparation, Verdict
from prumo_retina.grade import Grade
from prumo_retina.photograph import patient_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from prumo.progress import Progress
    from prumo_retina.dataset.finding import Duplicate, Finding
    from prumo_retina.dataset.folder import PhotographFolder
    from prumo_retina.dataset.labelling import Labelling

_PATIENTS = ("patient", "pseudonym")
_OWN_NAMES, _RUNNING_NAMES = ("input", "name"), ("input", "running_name")


@dataclass(frozen=True)
class Request:
    """Which photographs are to be prepared, where to, and how."""

    source: Path
    folder: Path
    preparation: Preparation = field(default_factory=Preparation)
    labels: Path | None = None
    columns: Columns = field(default_factory=Columns)
    anonymous_names: bool = False
    """Running names for the outputs, whose key is a file of its own."""
    jobs: int | None = None
    """Photographs at a time; as many as there are cores by default."""


@dataclass(frozen=True)
class Outcome:
    """What a preparation has made."""

    folder: Path
    manifest: Path
    found: PhotographFolder
    labelling: Labelling
    inventory: Inventory
    duplicates: tuple[Duplicate, ...]
    already_there: int
    """Photographs that an earlier run had prepared."""
    left_over: tuple[str, ...]
    """Images of earlier runs whose photographs are gone; they are in no row."""
    seconds: float

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        inventory = self.inventory
        return {
            "folder": str(self.folder),
            "manifest": str(self.manifest),
            "seconds": round(self.seconds, 3),
            "photographs": len(inventory.photographs),
            "already_there": self.already_there,
            "prepared": sum(bool(entry.output) for entry in inventory.photographs),
            "verdicts": {verdict.value: count for verdict, count in inventory.verdicts.items()},
            "labels": self.labelling.source,
            "grades": {
                "none" if g is None else str(int(g)): n for g, n in inventory.grades.items()
            },
            "patients": inventory.patients,
            "left_over": self.left_over,
            "duplicates": [asdict(duplicate) for duplicate in self.duplicates],
            "problems": inventory.problems,
            "not_looked_at": [*self.found.others, *self.found.left_out],
        }


def prepare(request: Request, progress: Progress = SILENT) -> Outcome:
    """Prepare every photograph of a folder; what an earlier run has done is not done again."""
    began = time.monotonic()
    folder, source = DataFolder(request.folder), request.source
    if source.is_dir() and folder.path.exists() and source.samefile(folder.path):
        raise InputError(
            f"IN and OUT are the same folder, {source}: give another one for the prepared "
            "photographs"
        )
    found = with_unread_kinds(find_photographs(source, folder.path))
    labelling = find_labels(found, request.labels, request.columns, progress)
    with folder.taken_up(request.preparation):
        # A manifest is the sign that a preparation has come to its end.
        (folder.path / MANIFEST_FILE).unlink(missing_ok=True)
        absent = [label.image for label in labelling.without_photograph]
        names = _named(folder, [*found.photographs, *absent], anonymous=request.anonymous_names)
        if request.anonymous_names:
            found, labelling = _in_order_of_names(found, labelling, names)
        findings, already_there = _find_all(request, found, names, progress)
        progress.show("looking for duplicates")
        duplicates = find_duplicates([findings[path] for path in found.photographs])
        pseudonyms = _pseudonyms(folder, labelling, found, findings)
        running_names = names if request.anonymous_names else {}
        inventory = take_inventory(findings, labelling, duplicates, pseudonyms, running_names)
        heads = ("image", "duplicate_of", "kind", "correlation")
        rows = ((two.image, two.of, two.kind, f"{two.correlation:.3f}") for two in duplicates)
        write_table(folder.path / "duplicates.csv", heads, rows)
        manifest = write_manifest(folder.path, inventory.entries)
    if not any(entry.output for entry in inventory.entries):
        raise DataError(
            f"none of the {len(found.photographs)} photographs in {source} could be "
            f"prepared; {manifest} tells why"
        )
    return Outcome(
        folder=folder.path,
        manifest=manifest,
        found=found,
        labelling=labelling,
        inventory=inventory,
        duplicates=duplicates,
        already_there=already_there,
        left_over=tuple(
            f"{IMAGES_FOLDER}/{name}.jpg"
            for path, name in names.items()
            if path not in found.photographs and folder.image_path(name).exists()
        ),
        seconds=time.monotonic() - began,
    )


def _in_order_of_names(
    found: PhotographFolder, labelling: Labelling, names: Mapping[str, str]
) -> tuple[PhotographFolder, Labelling]:
    """Both, so that no order of rows or of pseudonyms tells that of the inputs' own names."""
    photographs = sorted(found.photographs.items(), key=lambda item: names[item[0]])
    absent = sorted(labelling.without_photograph, key=lambda label: names[label.image])
    return (
        replace(found, photographs=dict(photographs)),
        replace(labelling, without_photograph=tuple(absent)),
    )


def _find_all(
    request: Request, found: PhotographFolder, names: Mapping[str, str], progress: Progress
) -> tuple[dict[str, Finding], int]:
    """What is in each photograph by path, and how many were known; an interruption keeps both."""
    folder, total = DataFolder(request.folder), len(found.photographs)
    known = read_findings(folder.journal_path)

    def found_in(path: str) -> Finding:
        name = names[path]
        output = folder.image_path(name)
        return find(found.photographs[path], output, known.get(name), request.preparation)

    findings: dict[str, Finding] = {}
    already_there = 0
    counter = ProgressCounter(
        f"preparing {found.path}", total, "photographs", progress, with_rate=True
    )
    with (
        written_findings(folder.journal_path, known.values()) as keep,
        contextlib.closing(in_threads(found_in, found.photographs, request.jobs)) as results,
    ):
        try:
            for path, finding in zip(found.photographs, results, strict=True):
                if finding is known.get(finding.name):
                    already_there += 1
                else:
                    keep(finding)
                findings[path] = finding
                counter.update(len(findings))
        except KeyboardInterrupt:
            progress.say(
                f"{len(findings)} of {total} photographs are done and kept; "
                "the same command goes on from there"
            )
            raise
    counter.finish()
    return findings, already_there


def _named(folder: DataFolder, inputs: Sequence[str], *, anonymous: bool) -> Mapping[str, str]:
    """A name for each input, kept before anything bears it."""
    heads = _RUNNING_NAMES if anonymous else _OWN_NAMES
    key = read_key(folder.names_path) or Key(heads)
    if key.heads != heads:
        raise InputError(
            f"{folder.path} was prepared {'without' if anonymous else 'with'} --anonymous-names: "
            "do the same, or give another folder"
        )
    if anonymous:
        # In the order of the inputs, a number would tell where in the alphabet a name stands.
        drawn = secrets.SystemRandom().sample(inputs, len(inputs))
        names = with_numbers(key.names, drawn, "fundus-", 5)
    else:
        names = with_own_names(key.names, inputs)
    write_key(folder.names_path, Key(heads, names))
    return names


def _pseudonyms(
    folder: DataFolder,
    labelling: Labelling,
    found: PhotographFolder,
    findings: Mapping[str, Finding],
) -> Mapping[str, str]:
    """By path: of the patient whom its label names, or else its file. Only the key names both."""
    patients = {path: label.patient for path, label in labelling.labels.items() if label.patient}
    for path, finding in findings.items():
        if path not in patients and finding.verdict is not Verdict.UNREADABLE:
            patients[path] = patient_number(found.photographs[path])
    patients = {path: patients[path] for path in findings if patients.get(path)}
    key = read_key(folder.patients_path) or Key(_PATIENTS)
    names = with_numbers(key.names, patients.values(), "P", 4)
    if names:
        write_key(folder.patients_path, Key(_PATIENTS, names))
    return {path: names[patient] for path, patient in patients.items()}


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


def take_inventory(
    findings: Mapping[str, Finding],
    labelling: Labelling,
    duplicates: Iterable[Duplicate],
    pseudonyms: Mapping[str, str],
    running_names: Mapping[str, str],
) -> Inventory:
    """One row for each photograph and for each label that has none.

    Findings and pseudonyms are by path; running names stand for paths that are not to be told.
    """
    originals = {duplicate.image: duplicate.of for duplicate in duplicates}
    conflicts = _conflicts(findings, labelling, originals)
    photographs: list[Entry] = []
    problems: dict[str, list[str]] = defaultdict(list)
    for path, finding in findings.items():
        name, label = running_names.get(path, path), labelling.labels.get(path, Label())
        unlabelled, conflict = labelling.notes.get(path, ""), conflicts.get(finding.name, "")
        for kind, reason in (
            ("not readable", finding.reason if finding.verdict is Verdict.UNREADABLE else ""),
            ("photographs without a label", unlabelled),
            ("labels with a mistake", label.problem),
            ("duplicates with different grades", conflict),
        ):
            if reason:
                problems[kind].append(f"{name}: {reason}")
        reasons = (finding.reason, label.problem, unlabelled, conflict)
        entry = Entry(
            input=name,
            output=f"{IMAGES_FOLDER}/{finding.name}.jpg" if finding.output_bytes else "",
            sha256=finding.sha256,
            width=finding.width,
            height=finding.height,
            circle=finding.circle,
            verdict=finding.verdict,
            reason="; ".join(filter(None, reasons)),
            grade=label.grade,
            patient=pseudonyms.get(path, ""),
            eye=label.eye or finding.eye,
            camera=label.camera or finding.camera,
            site=label.site,
            duplicate_of=originals.get(finding.name, ""),
        )
        photographs.append(entry)
    labels_alone = tuple(
        Entry(
            input=running_names.get(label.image, label.image),
            verdict=Verdict.MISSING,
            reason=label.problem,
            grade=label.grade,
        )
        for label in labelling.without_photograph
    )
    for entry in labels_alone:
        problems["labels without a photograph"].append(f"{entry.input}: {entry.reason}")
    told = {kind: tuple(examples) for kind, examples in problems.items()}
    return Inventory(tuple(photographs), labels_alone, told)


def _conflicts(
    findings: Mapping[str, Finding], labelling: Labelling, originals: Mapping[str, str]
) -> dict[str, str]:
    """Of each image whose duplicates have other grades: which they have."""
    groups: dict[str, dict[str, int]] = defaultdict(dict)
    for path, finding in findings.items():
        grade = labelling.labels.get(path, Label()).grade
        if grade is not None:
            groups[originals.get(finding.name, finding.name)][finding.name] = grade
    return {
        name: f"the same photograph has the grades {', '.join(map(str, sorted(grades)))}"
        for group in groups.values()
        if len(grades := set(group.values())) > 1
        for name in group
    }
