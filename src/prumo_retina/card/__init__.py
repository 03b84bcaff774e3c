"""The model card of an evaluation: its sections in the order in which people ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.message import Message
from prumo.quantity import Quantity
from prumo.version import __version__
from prumo_retina.card.layout import (
    Card,
    Facts,
    Paragraph,
    Points,
    Section,
    Table,
    formatted_estimate,
)
from prumo_retina.card.photographs import photographs
from prumo_retina.card.results import (
    calibration_section,
    default_rates,
    grades_section,
    points_section,
    results,
)
from prumo_retina.grade import DECISION_SUPPORT, OTHER_DISEASES, point_label
from prumo_retina.judge import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prumo.report.language import Language
    from prumo_retina.card.layout import Picture
    from prumo_retina.evaluation import Evaluation
    from prumo_retina.judge import Group
    from prumo_retina.model import ModelDescription

_COLUMNS = {"camera": "camera", "site": "site", "fold": "fold"}
_TASKS = {"referral": "referral (yes or no)", "grade": "five grades"}
_ENHANCEMENTS = {
    "none": "not enhanced",
    "graham": "enhanced after Graham (2015)",
    "clahe": "enhanced by local contrast (CLAHE)",
}

_TITLES = {
    "head": "head",
    "frozen": "backbone frozen",
    "trained_layers": "last layers trained",
    "augment": "photographs varied at random",
    "class_weights": "classes weighted alike",
    "image_size": "side of the photographs in pixels",
    "batch_size": "photographs per step",
    "epochs": "most epochs",
    "patience": "stops after epochs without progress",
    "optimizer": "optimizer",
    "learning_rate": "first learning rate",
    "weight_decay": "weight decay",
    "reduce_epochs": "smaller steps after epochs without progress",
    "precision": "precision",
    "strategy": "sharing of the work",
    "threads": "threads",
    "seed": "seed",
}
_ZEROS = {"trained_layers": "all", "patience": "never", "reduce_epochs": "never"}
# A card has rows of their own for these.
_SHOWN_ELSEWHERE = frozenset({"network", "task", "weights", "device"})

_WARNING = Message(
    "Other models on other data sets with other graders: context, not a comparison. A figure above "
    "or below one of these proves nothing."
)
# Source and data set → what it reports, with decimals of the reader's language.
_REPORTED: tuple[tuple[str, str, Message], ...] = (
    (
        "Gulshan et al. 2016, JAMA",
        "EyePACS-1",
        Message(
            "area {area:.2f}; sensitivity {sensitivity:.1f} %, specificity {specificity:.1f} % at "
            "the high-sensitivity point",
            {"area": 0.99, "sensitivity": 97.5, "specificity": 93.4},
        ),
    ),
    (
        "Voets et al. 2019, PLoS ONE",
        "EyePACS, Messidor-2",
        Message(
            "area {area:.3f} on photographs of the training's source, {elsewhere:.3f} elsewhere",
            {"area": 0.951, "elsewhere": 0.853},
        ),
    ),
    (
        "Abràmoff et al. 2018, npj Digital Medicine",
        "IDx-DR",
        Message(
            "sensitivity {sensitivity:.1f} %, specificity {specificity:.1f} %; required were "
            "{least_sensitivity:.1f} % and {least_specificity:.1f} %",
            {
                "sensitivity": 87.2,
                "specificity": 90.7,
                "least_sensitivity": 85.0,
                "least_specificity": 82.5,
            },
        ),
    ),
    (
        "Krause et al. 2018, Ophthalmology",
        "EyePACS-2",
        Message(
            "quadratic kappa of single specialists {low:.2f} to {high:.2f}",
            {"low": 0.82, "high": 0.91},
        ),
    ),
)


def card(evaluation: Evaluation, pictures: Sequence[Picture], language: Language) -> Card:
    """All that is known of a model, in a language."""
    lead = Message("Diabetic retinopathy in photographs of the fundus.")
    footer = Message(
        "Made by Prumo {version} on {day} from the evaluation “{name}”.",
        {"version": __version__, "day": evaluation.made[:10], "name": evaluation.name},
    )
    sections = [
        purpose(evaluation, language),
        results(evaluation, language),
        points_section(evaluation, language),
        grades_section(evaluation, language),
        calibration_section(evaluation, language),
        groups_section(evaluation, language),
        photographs(evaluation, language),
        making(evaluation, language),
        references(language),
    ]
    if pictures:
        sections.insert(4, _heat_maps(evaluation, pictures, language))
    return Card(
        tag=language.tag,
        kind=language.say("model card"),
        title=evaluation.model.description.name,
        lead=f"{language.say(lead)} {language.say(DECISION_SUPPORT)}",
        sections=tuple(sections),
        footer=language.say(footer),
    )


def _heat_maps(evaluation: Evaluation, pictures: Sequence[Picture], language: Language) -> Section:
    sentences = [
        Message(
            "Grad-CAM (Selvaraju et al. 2017), on the left the photograph, on the right the same "
            "under colours: bright yellow spoke most for a referral, dark blue least; where all is "
            "blue, nothing did. Each is scaled by itself, so it shows where and not how much, and "
            "never whether the network was right."
        )
    ]
    if evaluation.is_out_of_fold:
        sentences.append(
            Message(
                "They are of the network that is delivered, which has learnt from these "
                "photographs; the probabilities are of networks that had not."
            )
        )
    paragraph = Paragraph(" ".join(map(language.say, sentences)))
    return Section(language.say("Heat maps"), (paragraph, *pictures))


def purpose(evaluation: Evaluation, language: Language) -> Section:
    """Use and limits, most of which are the same for every model of this kind."""
    points = (
        Message(
            "For screening people with diabetes: it grades diabetic retinopathy in colour "
            "photographs of the fundus from 0 to 4 and says who should see a specialist (moderate "
            "retinopathy or worse)."
            if evaluation.model.description.task == "grade"
            else "For screening people with diabetes: it says from a colour photograph of the "
            "fundus whether a person should see a specialist (moderate diabetic retinopathy or "
            "worse). It gives no grade."
        ),
        DECISION_SUPPORT,
        OTHER_DISEASES,
        Message(
            "A photograph that cannot be judged (unreadable, no fundus found, too dark, too "
            "bright, noisy, blurred, cut off) counts as a referral."
        ),
        Message(
            "Figures hold for cameras, people and grading like those that it was judged on. In "
            "another hospital they are as a rule worse: judge it there on photographs with known "
            "grades before relying on it, and choose thresholds there."
        ),
        Message(
            "The true grades are what graders wrote; where graders differ, so would these figures."
        ),
        Message(
            "It knows photographs only as its own preparation makes them. Prumo refuses others, "
            "and so should whoever uses the network without Prumo."
        ),
    )
    return Section(
        language.say("Intended use and limits"), (Points(tuple(map(language.say, points))),)
    )


def groups_section(evaluation: Evaluation, language: Language) -> Section:
    """A table for each column, or the sentence that there is none."""
    blocks: list[Paragraph | Table] = []
    if all(table.column == "fold" for table in evaluation.judgement.groups):
        absent = Message(
            "The photographs do not distinguish cameras or sites, so nothing is known about "
            "differences between them."
        )
        blocks.append(Paragraph(language.say(absent)))
    at_point = Message(
        "Sensitivity and specificity of gradable photographs at “{point}”.",
        {"point": point_label(default_rates(evaluation).point.name, language)},
    )
    small = Message(
        "* Fewer than {fewest} referable photographs or fewer than {fewest} others: too few "
        "to be compared.",
        {"fewest": FEWEST},
    )
    for table in evaluation.judgement.groups:
        heads = (
            language.say(_COLUMNS[table.column]),
            *language.each("photographs", "referable", "ungradable", "area under the curve"),
            *language.each("sensitivity", "specificity"),
        )
        rows = tuple(_row(group, language) for group in table.groups)
        blocks += [Table(heads, rows), Paragraph(language.say(at_point))]
        if any(group.is_small for group in table.groups):
            blocks.append(Paragraph(language.say(small)))
    return Section(language.say("Cameras, sites and folds"), tuple(blocks))


def _row(group: Group, language: Language) -> tuple[str, ...]:
    name = group.name or language.say("not known")
    return (
        f"{name} *" if group.is_small else name,
        language.formatted(group.photographs, ",d"),
        language.formatted(group.referable, ",d"),
        language.formatted(group.ungradable, ",d"),
        formatted_estimate(group.auc, language),
        formatted_estimate(group.rates.sensitivity, language),
        formatted_estimate(group.rates.specificity, language),
    )


def making(evaluation: Evaluation, language: Language) -> Section:
    """What is known of it; what a training did not note is not shown."""
    description = evaluation.model.description
    pairs = (*_model(description, language), *_training(description.training, language))
    shown = tuple((name, value) for name, value in pairs if value)
    return Section(language.say("How it was made"), (Facts(shown),))


def _model(description: ModelDescription, language: Language) -> Iterator[tuple[str, str]]:
    preparation, normalization = description.preparation, description.normalization
    prepared = Message(
        "fundus found by “{method}”, {size} pixels across, {enhancement}",
        {
            "method": preparation.method,
            "size": preparation.size,
            "enhancement": Message(_ENHANCEMENTS[preparation.enhance]),
        },
    )
    normalized = Message(
        "(pixel - offset) / scale with offset {offset}, scale {scale}, channels {channels}; it is "
        "inside the network",
        {
            "offset": _numbers(normalization.offset, language),
            "scale": _numbers(normalization.scale, language),
            "channels": normalization.channels.upper(),
        },
    )
    scratch = language.say("random: nothing was learnt before this training")
    yield language.say("model"), description.name
    yield language.say("created"), description.created
    yield language.say("network"), description.network
    yield language.say("task"), language.say(_TASKS[description.task])
    weights = scratch if description.weights == "scratch" else description.weights
    yield language.say("first weights"), weights
    yield language.say("preparation"), language.say(prepared)
    yield language.say("normalization"), language.say(normalized)
    yield language.say("SHA-256 of the network"), description.network_sha256


def _training(training: dict[str, Any], language: Language) -> Iterator[tuple[str, str]]:
    """From what a training noted, in whatever order."""
    if (seconds := training.get("seconds")) is not None:
        yield language.say("training time"), language.told(Quantity(float(seconds), "s"))
    device = filter(None, (training.get("device"), training.get("machine")))
    yield language.say("device"), ", ".join(map(str, device))
    if epochs := training.get("epochs"):
        stopped = Message(
            "{epochs}, the best was number {best}",
            {"epochs": epochs, "best": training.get("best_epoch")},
        )
        told = language.say(stopped) if training.get("best_epoch") else str(epochs)
        yield language.say("epochs"), told
    parameters = training.get("parameters") or {}
    yield language.say("parameters"), formatted_parameters(parameters, language)
    versions = (training.get("versions") or {}).items()
    known = (f"{name} {version}" for name, version in versions if version is not None)
    yield language.say("versions"), ", ".join(known)


def _numbers(values: tuple[float, ...], language: Language) -> str:
    texts = [language.number(value) for value in dict.fromkeys(values)]
    return texts[0] if len(texts) == 1 else "; ".join(map(language.number, values))


def formatted_parameters(parameters: Mapping[str, object], language: Language) -> str:
    """Each with its title; one that is not known here keeps its name."""
    left_out = _SHOWN_ELSEWHERE | ({"trained_layers"} if parameters.get("frozen") else set())
    titles = {name: language.say(_TITLES[name]) for name in _TITLES}
    return "; ".join(
        f"{titles.get(name, name)}: {_value(name, value, language)}"
        for name, value in parameters.items()
        if value is not None and name not in left_out
    )


def _value(name: str, value: object, language: Language) -> str:
    if isinstance(value, bool):
        return language.say("yes" if value else "no")
    if value == 0 and name in _ZEROS:
        return language.say(_ZEROS[name])
    return language.number(value) if isinstance(value, float) else str(value)


def references(language: Language) -> Section:
    """Figures from the literature, under a warning."""
    heads = language.each("source", "data set or device", "reported")
    rows = tuple((source, data, language.say(reported)) for source, data, reported in _REPORTED)
    return Section(
        language.say("Elsewhere, on other photographs"),
        (Paragraph(language.say(_WARNING)), Table(heads, rows, words=3)),
    )
