"""Drawn photographs of a fundus, and folders of them with a table of grades."""

from benchmarks.synthetic_fundus import Fundus, fundus, no_fundus
from benchmarks.synthetic_photographs import write_photograph, write_photographs

__all__ = ["Fundus", "fundus", "no_fundus", "write_photograph", "write_photographs"]
