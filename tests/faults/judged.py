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
        "verify/decisions/means.py",
        "constant changed",
        "16",
        "17",
    ): "the size up to which one array is used: both ways add the same numbers, about as fast",
    (
        "verify/decisions/strategies.py",
        "constant changed",
        "2",
        "3",
    ): "any range of seeds is as good",
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
    (
        "trials/clustering/convex/solver.py",
        "constant changed",
        "2.0",
        "4.0",
    ): "the quick test passes less often, and then the exact one decides the same",
    (
        "trials/experiments/ifca/identities.py",
        "constant changed",
        "6",
        "7",
    ): "the largest allowed size is a choice: what memory cannot hold is refused where it is drawn",
    (
        "verify/claims/odcl/sides.py",
        "constant changed",
        "1e-12",
        "2e-12",
    ): "any allowance is as good that is above rounding and below the shares of two outcomes",
    (
        "verify/claims/odcl/part_one.py",
        "constant changed",
        "8",
        "9",
    ): "the number of points that a search tries is a choice",
    (
        "verify/claims/ifca/whole_run.py",
        "constant changed",
        "25.0",
        "50.0",
    ): "the bracket of a root: any lower end below the root gives the same root",
    (
        "verify/decisions/thresholds.py",
        "constant changed",
        "6",
        "7",
    ): "the number of zooms is a choice: the limits are rounded outwards after each",
    (
        "verify/testing/subjects/one_shot.py",
        "operator changed",
        "s + 0.5",
        "(s - 0.5)",
    ): "the first input of a subject is an example, and another one is as good",
    (
        "reports/figures.py",
        "constant changed",
        "0.9",
        "1.8",
    ): "the place of a colour scale before it is measured, which gives it its own place",
    (
        "trials/experiments/ifca/paired.py",
        "operator changed",
        "owner + 1",
        "(owner - 1)",
    ): "the wrong label is that of a neighbour in a circle of equal, exchangeable clusters",
}


def reason(fault: Fault) -> str:
    """Why a fault is equivalent, empty for a fault that tests must find."""
    return EQUIVALENT.get((fault.path, fault.kind, fault.old, fault.new), "")
