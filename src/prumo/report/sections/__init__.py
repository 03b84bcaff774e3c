"""The sections of a report in reading order: the answer first, what it rests on later."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from prumo.report.sections.money import ForecastSection, MoneySection
from prumo.report.sections.outcome import FailuresSection, WarningsSection
from prumo.report.sections.scaling import SizesSection
from prumo.report.sections.scenarios import (
    BarsSection,
    MetricsSection,
    RunsSection,
    ScenariosSection,
    UsageSection,
    UtilisationSection,
)
from prumo.report.sections.setting import EqualitySection, RepeatSection, SettingSection
from prumo.report.sections.training import LossSection, ProfilesSection
from prumo.report.sections.variation import EffectsSection, VariationSection

if TYPE_CHECKING:
    from prumo.report.sections.section import Section
    from prumo.results.tables import Results

SECTIONS: tuple[type[Section], ...] = (
    WarningsSection,
    BarsSection,
    MoneySection,
    ScenariosSection,
    RunsSection,
    VariationSection,
    EffectsSection,
    SizesSection,
    UtilisationSection,
    UsageSection,
    LossSection,
    EqualitySection,
    ProfilesSection,
    ForecastSection,
    FailuresSection,
    MetricsSection,
    SettingSection,
    RepeatSection,
)
_OWN_PLACE = SECTIONS.index(ScenariosSection)


def section_kinds(results: Results) -> list[type[Section]]:
    """The sections of a report on these results; a workload's own follow the answer."""
    own = results.study.workload.sections if results.study is not None else ""
    return [*SECTIONS[:_OWN_PLACE], *(resolve_name(own) if own else ()), *SECTIONS[_OWN_PLACE:]]
