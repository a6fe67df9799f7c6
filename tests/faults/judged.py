"""Faults that no test can find, with the reasons: they change nothing that anybody could see."""

from __future__ import annotations

from tests.faults.planting import Fault

#: (path, kind, old text, new text) -> why the program with the fault is as good.
EQUIVALENT: dict[tuple[str, str, str, str], str] = {
    (
        "verify/procedures/rate.py",
        "constant changed",
        "6",
        "7",
    ): "the number of curves in a figure is a choice",
    (
        "bounds/gaussian.py",
        "constant changed",
        "14336",
        "14337",
    ): "the term is 7e-15 at its largest, and a change of one part in 14,336 is below rounding",
    (
        "trials/clustering/convex/solver.py",
        "operator changed",
        "2.0 * radius**2",
        "(2.0 + radius ** 2)",
    ): "the quick test passes less often, and then the exact one decides the same",
}


def reason(fault: Fault) -> str:
    """Why a fault is equivalent, empty for a fault that tests must find."""
    return EQUIVALENT.get((fault.path, fault.kind, fault.old, fault.new), "")
