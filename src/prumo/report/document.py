"""The report as plain values, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prumo.report.convergence import convergence_document
from prumo.report.cost import cost_document
from prumo.report.profile import profile_document
from prumo.report.scaling import scaling_document
from prumo.report.sentence import sentences
from prumo.report.variation import variation_document

if TYPE_CHECKING:
    from prumo.report.content import Report
    from prumo.report.language import Language


def document(report: Report, language: Language) -> dict[str, Any]:
    """Everything the report says, ready for JSON."""
    return {
        "study": report.study_name,
        "confidence": report.confidence,
        "factors": list(report.factors),
        "main_metric": report.main_metric,
        "runs": {
            "planned": report.planned_runs,
            "finished": report.finished.height,
            "failed": report.failures.height,
            "unreadable": len(report.unreadable),
            "unfinished": len(report.unfinished),
        },
        "sentences": [language.say(sentence) for sentence in sentences(report)],
        "summary": report.summary.rows(named=True),
        "failures": report.failures.rows(named=True),
        "unreadable": [
            {"path": str(item.path), "reason": item.reason} for item in report.unreadable
        ],
        "unfinished": list(report.unfinished),
        "warnings": [
            {
                "name": warning.name,
                "message": language.say(warning.message),
                "advice": language.say(warning.advice),
            }
            for warning in report.warnings
        ],
        "equality": None
        if report.equality is None
        else {**report.equality.model_dump(mode="json"), "equal": report.equality.holds},
        "profiles": [profile_document(profile) for profile in report.profiles],
        "unprofiled": [
            {"reason": reason, "scenarios": scenarios}
            for reason, scenarios in report.unprofiled.items()
        ],
        "cost": None if report.cost is None else cost_document(report.cost, language),
        "unpriced": list(report.unpriced),
        "variations": [variation_document(found, language) for found in report.variations],
        "scaling": [scaling_document(fit) for fit in report.fits],
        "convergence": [convergence_document(found) for found in report.convergences],
        "forecast": None if report.forecast is None else report.forecast.rows(named=True),
    }
