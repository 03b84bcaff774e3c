"""How a metric goes with sizes: the laws that fit it, in sentences, tables and plain values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from prumo.message import Message
from prumo.quantity import Estimate, Quantity
from prumo.report.figures.batch import batch_figures
from prumo.report.label import SEPARATOR, metric_title
from prumo.report.sections.section import PageSection, Section
from prumo.statistics.interval import LARGEST_LOG
from prumo.statistics.metric import metric_of
from prumo.statistics.scaling import Law, scaling_fits
from prumo.study import level_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prumo.report.content import Report
    from prumo.report.figures.figure import Figure
    from prumo.report.language import Language
    from prumo.results.tables import Results
    from prumo.statistics.scaling import Constant, ScalingFit


# Beyond this many combinations a reader wants the range, and the table for the rest.
SENTENCES_PER_FACTOR = 4
DIGITS = 3


@dataclass(frozen=True)
class SizesSection(Section):
    """How the main metric goes with batch sizes, image sizes and other numbers."""

    name = "batch"
    fits: list[ScalingFit]

    @classmethod
    def of(cls, results: Results, report: Report, /) -> Self:
        """The laws that fit a report's main metric."""
        main = report.main_metric
        fits = scaling_fits(report.runs, results.factors, main, report.confidence) if main else []
        return cls(report, fits)

    def figures(self, language: Language, /) -> list[Figure]:
        """Metrics against the batch size."""
        report = self.report
        return batch_figures(report.finished, report.varying, report.confidence, language)

    def page(self, figures: Sequence[Figure], language: Language, /) -> PageSection | None:
        """The figure, sentences, and a row for each size and combination of other factors."""
        fits = scaling_rows(self.fits, language)
        if not figures and not fits:
            return None
        metric = metric_title(self.report.main_metric or "")
        law = language.say(Message("{metric} by size", {"metric": metric}))
        values = {"sentences": scaling_sentences(self.fits), "fits": fits, "title": law}
        return PageSection(self.name, figures[0].title if figures else law, "batch", values)

    def document(self, _language: Language, /) -> dict[str, Any]:
        """Every fit with its constants."""
        return {"scaling": [_document(fit) for fit in self.fits]}

    def frames(self) -> dict[str, pl.DataFrame]:
        """A row for each fit, where there are any."""
        return {"scaling": scaling_table(self.fits)} if self.fits else {}


def scaling_sentences(fits: Sequence[ScalingFit]) -> list[Message]:
    """A sentence for each fit, or one for all fits of a factor where they are many."""
    said: list[Message] = []
    for _, group in groupby(fits, key=lambda fit: fit.factor):
        several = list(group)
        if len(several) > SENTENCES_PER_FACTOR:
            said.append(_range(several))
        else:
            said += map(fit_sentence, several)
    return said


def fit_sentence(fit: ScalingFit) -> Message:
    """The law of one combination, where it was measured, and whether it is the only one."""
    law = Message(
        "{law}, measured from {least:g} to {most:g}",
        {"law": _law(fit), "least": fit.levels[0], "most": fit.levels[-1]},
    )
    where = Message("{levels}: {law}", {"levels": combination(fit), "law": law})
    return Message(
        "{finding}; these levels cannot distinguish this law from another."
        if fit.rivals
        else "{finding}.",
        {"finding": where if fit.within else law},
    )


def scaling_table(fits: Sequence[ScalingFit]) -> pl.DataFrame:
    """One row per fit: its combination, law, constants, and how well each law fits."""
    return pl.DataFrame(
        [
            {
                "metric": fit.metric,
                "factor": fit.factor,
                "combination": combination(fit),
                "law": fit.law.value,
                **_constant("start", fit.start),
                **_constant("slope", fit.slope),
                **_constant("exponent", fit.exponent),
                "error_percent": fit.error_percent,
                "least": fit.levels[0],
                "most": fit.levels[-1],
                **{f"{law}_aicc_above_best": fit.aicc_above_best[law] for law in Law},
            }
            for fit in fits
        ],
        infer_schema_length=None,
    )


def combination(fit: ScalingFit) -> str:
    """The levels of the factors that stand still, as they are written in a study."""
    return ", ".join(f"{name}={level_text(level)}" for name, level in fit.within.items())


def _law(fit: ScalingFit) -> Message:
    metric = metric_of(fit.metric)
    values = {"metric": metric_title(metric.name), "factor": fit.factor}
    if fit.law is Law.POWER:
        value, low, high = (2 ** min(power, LARGEST_LOG) for power in fit.exponent)
        return Message(
            "{metric} goes with {factor} to the power {exponent}; twice the {factor} makes it "
            "{times} times as large",
            {
                **values,
                "exponent": Estimate(*fit.exponent, digits=DIGITS),
                "times": Estimate(value, low, high, digits=DIGITS),
            },
        )
    numbers = {
        **values,
        "start": Quantity(fit.start.value, metric.unit),
        "slope": Quantity(fit.slope.value, metric.unit),
    }
    if fit.law is Law.LINE:
        return Message("{metric} is about {start} plus {slope} for each of {factor}", numbers)
    return Message("{metric} is about {start} plus {slope} divided by {factor}", numbers)


def _range(fits: Sequence[ScalingFit]) -> Message:
    exponents = sorted(fit.exponent.value for fit in fits)
    return Message(
        "{metric} goes with {factor} to powers from {least:.2f} to {most:.2f} in {total} "
        "combinations of the other factors.",
        {
            "metric": metric_title(fits[0].metric),
            "factor": fits[0].factor,
            "least": exponents[0],
            "most": exponents[-1],
            "total": len(fits),
        },
    )


def _constant(name: str, constant: Constant) -> dict[str, float]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), constant, strict=True))


LAWS = {
    Law.POWER: Message("a power of it"),
    Law.LINE: Message("a line"),
    Law.SHARED: Message("a fixed part and one shared out"),
}


def scaling_rows(fits: Sequence[ScalingFit], language: Language) -> list[dict[str, str]]:
    """A row per size and combination of the other factors."""
    return [
        {
            "factor": fit.factor,
            "levels": SEPARATOR.join(map(str, fit.within.values())),
            "law": " / ".join(language.say(LAWS[law]) for law in (fit.law, *fit.rivals)),
            "exponent": language.number(fit.exponent.value, DIGITS),
            "interval": language.interval(fit.exponent.low, fit.exponent.high, DIGITS),
            "error": f"{language.number(fit.error_percent, DIGITS)} %",
        }
        for fit in fits
    ]


def _document(fit: ScalingFit) -> dict[str, Any]:
    return {
        "metric": fit.metric,
        "factor": fit.factor,
        "within": dict(fit.within),
        "law": fit.law.value,
        "rivals": [law.value for law in fit.rivals],
        "start": list(fit.start),
        "slope": list(fit.slope),
        "exponent": list(fit.exponent),
        "error_percent": fit.error_percent,
        "levels": list(fit.levels),
        "means": list(fit.means),
    }
