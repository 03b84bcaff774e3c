"""Data sets on the controller's side: found, checked, prepared once for all frameworks, fetched.

Like `environments`, it keeps in the cache what runs need and only the controller can make. The
worker's `data` only maps the prepared arrays.
"""

from prumo.datasets.download import Known, known_sets
from prumo.datasets.preparation import Prepared, Request, prepare, prepared_sets, remove
from prumo.datasets.source import Subset
from prumo.datasets.study_data import Examination, StudyData, examine

__all__ = [
    "Examination",
    "Known",
    "Prepared",
    "Request",
    "StudyData",
    "Subset",
    "examine",
    "known_sets",
    "prepare",
    "prepared_sets",
    "remove",
]
