"""Figures camera by camera, site by site and fold by fold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prumo.message import Message
from prumo_retina.card.layout import Paragraph, Section, Table
from prumo_retina.card.results import default_rates
from prumo_retina.card.wording import told_estimate, told_point
from prumo_retina.judge.judgement import FEWEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prumo.report.language import Language
    from prumo_retina.evaluation.evaluation import Evaluation
    from prumo_retina.judge.judgement import Group, GroupTable

_COLUMNS = {"camera": "camera", "site": "site", "fold": "fold"}
_ABSENT = Message(
    "The photographs do not tell cameras or sites apart, so nothing is known about differences "
    "between them."
)


def groups_section(evaluation: Evaluation, language: Language) -> Section:
    """A table for each column, or the sentence that there is none."""
    tables = evaluation.judgement.groups
    blocks: list[Paragraph | Table] = []
    if not any(table.column != "fold" for table in tables):
        blocks.append(Paragraph(language.say(_ABSENT)))
    point = default_rates(evaluation).point.name
    for table in tables:
        blocks += _blocks(table, point, language)
    return Section(language.say("Cameras, sites and folds"), tuple(blocks))


def _blocks(table: GroupTable, point: str, language: Language) -> Iterator[Paragraph | Table]:
    yield Table(
        (
            language.say(_COLUMNS[table.column]),
            language.say("photographs"),
            language.say("referable"),
            language.say("ungradable"),
            language.say("area under the curve"),
            language.say("sensitivity"),
            language.say("specificity"),
        ),
        tuple(_row(group, language) for group in table.groups),
    )
    at_point = Message(
        "Sensitivity and specificity of gradable photographs at “{point}”.",
        {"point": told_point(point, language)},
    )
    yield Paragraph(language.say(at_point))
    if any(group.is_small for group in table.groups):
        small = Message(
            "* Fewer than {fewest} referable photographs or fewer than {fewest} others: too few "
            "to be compared.",
            {"fewest": FEWEST},
        )
        yield Paragraph(language.say(small))


def _row(group: Group, language: Language) -> tuple[str, ...]:
    name = group.name or language.say("not known")
    return (
        f"{name} *" if group.is_small else name,
        language.formatted(group.photographs, ",d"),
        language.formatted(group.referable, ",d"),
        language.formatted(group.ungradable, ",d"),
        told_estimate(group.auc, language),
        told_estimate(group.rates.sensitivity, language),
        told_estimate(group.rates.specificity, language),
    )
