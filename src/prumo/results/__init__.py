"""Run folders ⇄ tables."""
