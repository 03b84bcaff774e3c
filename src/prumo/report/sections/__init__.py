"""The sections of a report in reading order: the answer first, what it rests on later."""

from __future__ import annotations

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
