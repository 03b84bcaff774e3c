"""Data sets on the controller's side: found, checked, prepared once for all frameworks, fetched.

A room of its own beside `environment`: both keep in the cache what runs need and only the
controller can make. The worker's `data` then only maps the prepared arrays.
"""

from prumo.data.examination import Examination, examine
from prumo.data.known import Known, known_sets
from prumo.data.preparation import Request, prepare
from prumo.data.prepared import Prepared
from prumo.data.source import Subset
from prumo.data.store import prepared_sets, remove
from prumo.data.study_data import StudyData

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
