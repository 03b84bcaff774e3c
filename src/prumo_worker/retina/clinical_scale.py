"""The grades as a worker knows them; `prumo.retina.grade` tells them to people."""

from __future__ import annotations

GRADE_COUNT = 5
REFERABLE_FROM = 2
"""Moderate retinopathy and worse is sent to a specialist."""
