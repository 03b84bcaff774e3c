"""Made photographs with grades and scores, for tests of what judges a model."""

from __future__ import annotations

import numpy as np

from prumo_retina.judge.measures import Case

PREVALENCE = (0.4, 0.1, 0.25, 0.15, 0.1)


def grade_cases(
    count: int, *, seed: int = 1, skill: float = 1.2, ungradable: int = 0, per_patient: int = 1
) -> list[Case]:
    """Cases of the task `grade`, whose scores are highest about the true grade."""
    random = np.random.default_rng(seed)
    grades = random.choice(5, size=count, p=PREVALENCE)
    seen = grades + random.normal(scale=1 / skill, size=count)
    scores = -((seen[:, None] - np.arange(5)) ** 2) * skill
    return [
        Case(
            image=f"eye-{number:04}",
            grade=int(grades[number]),
            scores=None if number < ungradable else tuple(scores[number].tolist()),
            patient=f"P{number // per_patient:04}" if per_patient > 1 else "",
            camera=("Topcon", "Canon", "Kowa")[min(number * 5 // (2 * count), 2)],
            fold=f"fold-{number % 5 + 1}",
        )
        for number in range(count)
    ]


def referral_cases(count: int, *, seed: int = 1, temperature: float = 1.0) -> list[Case]:
    """Cases of the task `referral` that are calibrated at the given temperature."""
    random = np.random.default_rng(seed)
    logits = random.normal(scale=2, size=count)
    referable = random.random(count) < 1 / (1 + np.exp(-logits))
    return [
        Case(f"eye-{number:04}", 2 if referable[number] else 0, (logits[number] * temperature,))
        for number in range(count)
    ]
