"""Faults that no test can find, with the reasons: they change nothing that anybody could see."""

from __future__ import annotations

from tests.faults.planting import Fault

#: (path, kind, old text, new text, a text of its line) -> why the fault does no harm.
#: The same change on another line of the file is another fault.
EQUIVALENT: dict[tuple[str, str, str, str, str], str] = {
    (
        "verify/procedures/rate.py",
        "constant changed",
        "6",
        "7",
        "series=series[:6]",
    ): "the number of curves in a figure is a choice",
    (
        "verify/decisions/means.py",
        "constant changed",
        "16",
        "17",
        "_ONE_ARRAY = 1 << 16",
    ): "the size up to which one array is used: both ways add the same numbers, about as fast",
    (
        "bounds/gaussian.py",
        "constant changed",
        "14336",
        "14337",
        "17.0 / 14336",
    ): "the term is 7e-15 at its largest, and a change of one part in 14,336 is below rounding",
    (
        "trials/clustering/convex/solver.py",
        "operator changed",
        "2.0 * radius**2",
        "(2.0 + radius ** 2)",
        "separated = float(squares.min()) > 2.0 * radius**2 / lightest",
    ): "the quick test passes less often, and then the exact one decides the same",
    (
        "trials/clustering/convex/solver.py",
        "constant changed",
        "2.0",
        "4.0",
        "separated = float(squares.min()) > 2.0 * radius**2 / lightest",
    ): "the quick test passes less often, and then the exact one decides the same",
    (
        "verify/claims/odcl/sides.py",
        "constant changed",
        "1e-12",
        "2e-12",
        "exceeded <= share * (1 + 1e-12)",
    ): "any allowance is as good that is above rounding and below the shares of two outcomes",
    (
        "verify/claims/odcl/part_one.py",
        "constant changed",
        "8",
        "9",
        "budget=profile.searches // 8",
    ): "the number of points that a search tries is a choice",
    (
        "verify/claims/ifca/whole_run.py",
        "constant changed",
        "25.0",
        "50.0",
        'low, high = -25.0, math.log(params["Delta"])',
    ): "the bracket of a root: any lower end below the root gives the same root",
    (
        "verify/decisions/thresholds.py",
        "constant changed",
        "6",
        "7",
        "for zoom in range(6):",
    ): "the number of zooms is a choice: the limits are rounded outwards after each",
    (
        "verify/testing/subjects/one_shot.py",
        "operator changed",
        "s + 0.5",
        "(s - 0.5)",
        "np.array([s, 0.5, s + 0.5])",
    ): "the first input of a subject is an example, and another one is as good",
    (
        "reports/figures.py",
        "constant changed",
        "0.9",
        "1.8",
        "figure.add_axes((0.9, 0.2, 0.02, 0.6)",
    ): "the place of a colour scale before it is measured, which gives it its own place",
    (
        "trials/experiments/ifca/paired.py",
        "operator changed",
        "owner + 1",
        "(owner - 1)",
        "(owner + 1) % k, owner)",
    ): "the wrong label is that of a neighbour in a circle of equal, exchangeable clusters",
    (
        "verify/mutation/conditions.py",
        "constant changed",
        "10_000",
        "10001",
        "MAX_NEW_TRIALS_OF_A_CONDITION = 10_000",
    ): "the number of new trials that a changed condition may ask for is a choice",
    (
        "reports/site/drawing.py",
        "constant changed",
        "1",
        "2",
        "round(x + _SIDE, 1)",
    ): "the place of a name on the screen to a hundredth of a pixel instead of a tenth",
    (
        "reports/ticks.py",
        "constant changed",
        "1e-9",
        "2e-09",
        "math.ceil(math.log10(low) - 1e-9)",
    ): "an allowance for rounding: axes do not end within it",
    (
        "verify/testing/examples.py",
        "operator changed",
        "a[low] - a[high]",
        "(a[low] + a[high])",
        "split, dual, rho =",
    ): "the start of an iteration that converges from every start",
}


def reason(fault: Fault, source: str) -> str:
    """Why a fault in a file of this text is equivalent, empty for a fault that tests must find.

    Examples
    --------
    >>> fault = Fault("reports/figures.py", 4, "0.9", "1.8", "constant changed", 1)
    >>> reason(fault, "x = 0.9")
    ''
    """
    line = source.splitlines()[fault.line - 1]
    change = (fault.path, fault.kind, fault.old, fault.new)
    return next(
        (why for (*key, text), why in EQUIVALENT.items() if (*key,) == change and text in line), ""
    )
