"""The subjects by name, with all their checks."""

from __future__ import annotations

from trials.checks import one_of
from verify.testing.check import Subject
from verify.testing.subjects import (
    assignment,
    convex_clustering,
    fedx,
    ifca,
    kmeans,
    one_shot,
    orthogonal_iteration,
)

_MODULES = (ifca, fedx, assignment, kmeans, convex_clustering, one_shot, orthogonal_iteration)

SUBJECTS: dict[str, Subject] = {s.name: s for module in _MODULES for s in module.SUBJECTS}


def subject(name: str) -> Subject:
    """The subject of a name.

    Raises
    ------
    InvalidParameter : an unknown name.  The error lists all names.
    """
    return SUBJECTS[one_of("subject", name, SUBJECTS)]
