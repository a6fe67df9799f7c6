"""Worlds with a known truth, and how often each procedure is wrong in them.

Every world simulates batches, looks at each batch as a run would (doubling rounds, stopping at the
first verdict) and counts wrong verdicts or limits that miss the truth.  `tests/verify/
test_calibration_worlds.py` holds the counts to their level.  ``python -m
tests.verify.calibration_worlds`` runs everything at full size, in a quarter of an hour of CPU time,
and writes ``docs/calibration.md``.  ``... rate contraction`` runs these procedures alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import sympy as sp
from scipy.stats import binomtest

from bounds.statement import Contrast, Printed, Statement, Term
from tests.stated import NOBODY
from tests.verify.calibration_benchmark import POWER_HEADING, benchmark_worlds, power_table
from tests.verify.calibration_bounds import FLOOR, constant_worlds, probability_worlds, rate_worlds
from tests.verify.calibration_world import LEVEL, Batch, World
from tests.verify.toys import DOSE, dose_probability
from verify.decisions.comparisons import ContrastTest, TrendTest
from verify.decisions.means import INDICATOR, SHARE, Knowledge, MeanTest
from verify.decisions.rates import fit_power_law
from verify.decisions.reproductions import ReproductionTest
from verify.decisions.suprema import decide_supremum
from verify.decisions.thresholds import Design, log_grid
from verify.evidence import Verdict
from verify.procedures.base import Sampling
from verify.procedures.threshold import Sized, Threshold

LOOKS = (256, 512, 1024, 2048)
Draw = Callable[[np.random.Generator, int], np.ndarray]
DrawPair = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


# means


def _hetero(rng: np.random.Generator, n: int) -> np.ndarray:
    """Mean 1/2 with a spread that differs from trial to trial over two decades."""
    spread = 0.5 * 10.0 ** -rng.uniform(0, 2, n)
    return 0.5 + spread * rng.choice([-1.0, 1.0], n)


BOUNDED: dict[str, tuple[Draw, float]] = {
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "fair coin": (lambda rng, n: rng.binomial(1, 0.5, n) * 1.0, 0.5),
    "rare event, p = 0.005": (lambda rng, n: rng.binomial(1, 0.005, n) * 1.0, 0.005),
    "near the upper end, p = 0.995": (lambda rng, n: rng.binomial(1, 0.995, n) * 1.0, 0.995),
    "U-shaped Beta(1/5, 1/5)": (lambda rng, n: rng.beta(0.2, 0.2, n), 0.5),
    "discrete thirds, 30 clients a trial": (lambda rng, n: rng.binomial(30, 1 / 3, n) / 30, 1 / 3),
    "heteroskedastic over two decades": (_hetero, 0.5),
}
NON_NEGATIVE: dict[str, tuple[Draw, float]] = {
    "exponential": (lambda rng, n: rng.standard_exponential(n), 1.0),
    "lognormal, sigma = 2": (lambda rng, n: rng.lognormal(-2.0, 2.0, n), 1.0),
    "Pareto, index 1.5": (lambda rng, n: 0.5 * rng.pareto(1.5, n), 1.0),
}
VARIANCE: dict[str, tuple[Draw, float, float]] = {
    "Student t, 3 degrees": (lambda rng, n: rng.standard_t(3, n), 0.0, 3.0),
    "Pareto, index 2.5": (lambda rng, n: rng.pareto(2.5, n), 1 / 1.5, 2.5 / (1.5**2 * 0.5)),
    "exponential": (lambda rng, n: rng.standard_exponential(n), 1.0, 1.0),
    "scaled normal, 1e-6": (lambda rng, n: 1e-6 * rng.standard_normal(n), 0.0, 1e-12),
}
ASYMPTOTIC: dict[str, tuple[Draw, float]] = {
    "normal": (lambda rng, n: rng.standard_normal(n), 0.0),
    "gamma, shape 4": (lambda rng, n: rng.gamma(4.0, size=n), 4.0),
    "exponential": (lambda rng, n: rng.standard_exponential(n), 1.0),
    "Student t, 5 degrees": (lambda rng, n: rng.standard_t(5, n), 0.0),
    "lognormal, sigma = 1": (lambda rng, n: rng.lognormal(-0.5, 1.0, n), 1.0),
    "lognormal, sigma = 2": (lambda rng, n: rng.lognormal(-2.0, 2.0, n), 1.0),
    "Pareto, index 2.5": (lambda rng, n: rng.pareto(2.5, n), 1 / 1.5),
    "rare 50s, p = 0.01": (lambda rng, n: 50.0 * rng.binomial(1, 0.01, n), 0.5),
}


def _looked_at(test: MeanTest, draw: Draw, wrong: str) -> Batch:
    """Whether the status ``wrong`` is reached at the first verdict over the looks."""

    def batch(rng: np.random.Generator) -> int:
        x = draw(rng, LOOKS[-1])
        for n in LOOKS:
            status, _ = test.status(x[:n])
            if status in ("fails", "holds"):
                return int(status == wrong)
        return 0

    return batch


def _mean(bound: float, side: str, known: Knowledge, margin: float = 0.1) -> MeanTest:
    return MeanTest(
        bound=bound,
        side=side,  # type: ignore[arg-type]
        knowledge=known,
        horizon=LOOKS[-1],
        refute_level=LEVEL,
        support_level=LEVEL,
        margin=margin,
    )


def mean_worlds() -> list[World]:
    """At equality both verdicts of a one-sided statement are the worst case of an error."""
    worlds = []
    kinds = (("fails", "false refutation"), ("holds", "false support"))
    unit = Knowledge(low=0.0, high=1.0)
    for data, (draw, mean) in BOUNDED.items():
        for status, error in kinds:
            batch = _looked_at(_mean(mean, "at most", unit), draw, status)
            worlds.append(World("mean, range known", error, data, batch))
    for data, (draw, mean) in NON_NEGATIVE.items():
        test = _mean(mean, "at most", Knowledge(low=0.0))
        worlds.append(
            World("mean, lower end known", kinds[0][1], data, _looked_at(test, draw, "fails"))
        )
    for data, (draw, mean, variance) in VARIANCE.items():
        for status, error in kinds:
            test = _mean(mean, "at most", Knowledge(variance=variance))
            worlds.append(
                World("mean, variance known", error, data, _looked_at(test, draw, status))
            )
    for data, (draw, mean) in ASYMPTOTIC.items():
        for status, error in kinds:
            test = _mean(mean, "at most", Knowledge(asymptotic=True))
            worlds.append(World("mean, asymptotic", error, data, _looked_at(test, draw, status)))
    uniform = BOUNDED["uniform"][0]
    equal = _mean(0.5, "equals", unit)
    worlds.append(
        World(
            "mean, equality",
            kinds[0][1],
            "uniform",
            _looked_at(equal, BOUNDED["uniform"][0], "fails"),
        )
    )
    edge = _mean(0.5 / 1.1, "equals", unit)
    worlds.append(
        World(
            "mean, equality",
            kinds[1][1],
            "uniform, at the margin",
            _looked_at(edge, uniform, "holds"),
        )
    )
    return worlds


# thresholds

DOSES = {
    "logit, slope 4": {"slope": 4.0, "law": "logit"},
    "logit, slope 1.5": {"slope": 1.5, "law": "logit"},
    "complementary log-log": {"slope": 2.0, "law": "cloglog"},
    "step (perfect separation)": {"slope": 1.0, "law": "step"},
    "step from .3 to .55, which no link follows": {"slope": 1.0, "law": "low step"},
}


def _dose_fit(  # type: ignore[no-untyped-def]
    rng: np.random.Generator,
    dose: dict,  # type: ignore[type-arg]
    need: float,
    grid: tuple[int, ...],
    stated: tuple[float, float] | None = None,
):
    plan = Design(grid=grid, batch=16, budget=320, level=LEVEL, stated=stated)
    counts: dict[int, tuple[int, int]] = {}
    while (size := plan.next_size(counts)) is not None:
        s, t = counts.get(size, (0, 0))
        p = dose_probability({**dose, "need": need, "n": size})
        counts[size] = s + int(rng.binomial(16, p)), t + 16
    return plan.fit(counts)


def _threshold_missed(dose: dict) -> Batch:  # type: ignore[type-arg]
    """The stated sizes end or begin at the threshold, where wrong decisions are easiest."""
    grid = log_grid(16, 1024, 4)

    def batch(rng: np.random.Generator) -> int:
        need = float(rng.uniform(60, 300))
        stated = [(0.6 * need, need), (need, 1.6 * need)][int(rng.integers(2))]
        fit = _dose_fit(rng, dose, need, grid, stated)
        return int(not fit.lower <= need * (1 + 1e-9) or not need <= fit.upper * (1 + 1e-9))

    return batch


def _exponent_missed(rng: np.random.Generator) -> int:
    d, need, se = np.array([1.0, 2, 4, 8, 16, 32]), [], []
    for value in d:
        true = 30.0 * value
        grid = log_grid(max(int(true / 7), 1), int(true * 9), 4)
        fit = _dose_fit(rng, DOSES["logit, slope 4"], true, grid)
        if not fit.estimated:
            return 0
        need.append(fit.threshold)
        se.append(fit.se_log)
    low, high = fit_power_law(need, {"d": d}, se_log=se).limits("d", LEVEL)
    return int(not low <= 1.0 <= high)


#: Cells of a threshold whose stated order is d c while its scaling names d alone.
_CELLS = tuple({"d": d, "c": c} for d in (1.0, 4.0, 16.0) for c in (1.0, 4.0, 16.0))
_ORDER = Threshold(
    statement=Statement(
        id="toy.order",
        title="A toy",
        publication=NOBODY,
        source="Theorem 1",
        kind="threshold",
        quantifiers="",
        observed="n",
        relation=r"\le",
        terms=(Term(name="size", expr=sp.Symbol("d") * sp.Symbol("c")),),
    ),
    sampling=Sampling(experiment=DOSE, max_trials=320, first=16),
    cells=_CELLS,
    size="n",
    grid=lambda _cell: (),
    success=lambda table, _cell: table["success"] > 0,
    event="success",
    scaling=("d",),
    towards=({"d": 1.0},),
)


def _outside_the_scaling(growth: float, wrong: Verdict) -> Batch:
    """Whether the verdict is ``wrong`` where the required constant grows with c by ``growth``."""

    def batch(rng: np.random.Generator) -> int:
        sized = []
        for cell in _CELLS:
            need = 30.0 * cell["d"] * cell["c"] ** (1.0 + growth)
            grid = log_grid(max(int(need / 7), 1), int(need * 9), 4)
            fit = _dose_fit(rng, DOSES["logit, slope 4"], need, grid)
            sized.append(Sized(params=cell, counts={}, observed=(), fit=fit))
        return int(_ORDER.compare_growth(sized, LEVEL)[0] is wrong)

    return batch


def threshold_worlds() -> list[World]:
    """Limits that miss a threshold, under the adaptive design with its early stop."""
    worlds = [
        World("threshold, limits", "limits miss", data, _threshold_missed(dose), full=500, quick=20)
        for data, dose in DOSES.items()
    ]
    worlds.append(
        World(
            "threshold, scaling",
            "limits miss",
            "exponent 1, six cells",
            _exponent_missed,
            quick=10,
        )
    )
    for error, wrong in (
        ("false refutation", Verdict.REFUTED),
        ("false support", Verdict.SUPPORTED),
    ):
        for side, sign in (("larger", 1.0), ("smaller", -1.0)):
            data = f"grows by the margin towards {side} values"
            batch = _outside_the_scaling(sign * _ORDER.margin, wrong)
            name = "threshold, outside the scaling"
            worlds.append(World(name, error, data, batch, full=200, quick=5))
    return worlds


# comparisons and trends


def _paired(ratio: float) -> DrawPair:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        shared = rng.gamma(2.0, 0.5, n)
        return ratio * shared * rng.gamma(4, 0.25, n), shared * rng.gamma(8, 0.125, n)

    return draw


def _coins(p: float, q: float) -> DrawPair:
    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        u = rng.random(n)
        return (u < p) * 1.0, (u < q) * 1.0

    return draw


def _cauchy(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.abs(rng.standard_cauchy(n)), np.abs(rng.standard_cauchy(n))


def _contrast(contrast: Contrast, known: Knowledge, draw, wrong: str, scale: str = "mean"):  # type: ignore[no-untyped-def]
    test = ContrastTest(
        contrast=contrast,
        knowledge=known,
        horizon=LOOKS[-1],
        refute_level=LEVEL,
        support_level=LEVEL,
        scale=scale,  # type: ignore[arg-type]
    )

    def batch(rng: np.random.Generator) -> int:
        a, b = draw(rng, LOOKS[-1])
        for n in LOOKS:
            status = test.decide(a[:n], b[:n], limits=False).status
            if status != "open":
                return int(status == wrong)
        return 0

    return batch


def _trend(groups: Sequence[float], wrong: str, margin: float, n: int, known: Knowledge) -> Batch:
    test = TrendTest(
        margin=margin,
        knowledge=known,
        horizon=n,
        refute_level=LEVEL,
        support_level=LEVEL,
    )

    def batch(rng: np.random.Generator) -> int:
        drawn = [rng.binomial(1, p, n) * 1.0 for p in groups]
        return int(test.decide(drawn)[0] == wrong)

    return batch


def comparison_worlds() -> list[World]:
    """Contrasts at equality or at their margin, trends flat or at their margin."""
    less = Contrast(left="a", relation="<", right="b")
    most = Contrast(left="a", relation="<=", right="b", margin=0.1)
    same = Contrast(left="a", relation="=", right="b", margin=0.1)
    free, unit = Knowledge(low=0.0, asymptotic=True), Knowledge(low=0.0, high=1.0)
    worlds = []
    for wrong, error in (("fails", "false refutation"), ("holds", "false support")):
        cases = [
            ("<, asymptotic", less, free, _paired(1.0), "gamma errors at equality", "mean"),
            ("<=, asymptotic", most, free, _paired(1.1), "gamma errors at the margin", "mean"),
            ("=, asymptotic", same, free, _paired(1.1), "gamma errors at the margin", "mean"),
            ("<, successes", less, unit, _coins(0.3, 0.3), "identical columns", "mean"),
            ("<=, successes", most, unit, _coins(0.55, 0.5), "coins at the margin", "mean"),
            ("<, signs", less, free, _cauchy, "Cauchy errors at equality", "sign"),
        ]
        for name, contrast, known, draw, data, scale in cases:
            batch = _contrast(contrast, known, draw, wrong, scale)
            worlds.append(World(f"comparison {name}", error, data, batch))
    for name, data, groups, wrong, margin, n, known in (
        ("trend", "flat", (0.5,) * 3, "fails", 1e-6, 512, SHARE),
        ("trend", "falls by the margin", (0.3, 0.6, 0.5), "fails", 0.1, 512, SHARE),
        ("trend", "flat", (0.5,) * 3, "holds", 0.3, 512, SHARE),
        ("trend", "falls beyond the margin", (0.1, 0.6, 0.4), "holds", 0.1999, 512, SHARE),
        (
            "trend of an indicator", "40 trials, falls beyond the margin",
            (0.1, 1.0, 0.85), "holds", 0.1499, 40, INDICATOR,
        ),
        (
            "trend of an indicator", "40 trials, falls by the margin",
            (0.1, 0.65, 0.5), "fails", 0.15, 40, INDICATOR,
        ),
    ):  # fmt: skip
        error = {"fails": "false refutation", "holds": "false support"}[wrong]
        batch = _trend(groups, wrong, margin, n, known)
        worlds.append(World(name, error, data, batch, quick=20))
    return worlds


# reproductions and suprema


def _reproduction(draw: Draw, truth: float, known: Knowledge, wrong: str, estimand: str, se: float):  # type: ignore[no-untyped-def]
    """The printed value is such that the truth lies exactly at the end of its tolerance.

    Where it has an error, it is the mean of four normal runs with their own standard error.
    """
    tolerance, runs = 0.05, 4

    def batch(rng: np.random.Generator) -> int:
        own = 2.0 * se * rng.standard_normal(runs)
        value, error = truth - tolerance + float(own.mean()), float(own.std(ddof=1)) / 2.0
        test = ReproductionTest(
            printed=Printed(at={}, value=value, tolerance=tolerance, se=error, runs=runs),
            knowledge=known,
            horizon=LOOKS[-1],
            refute_level=LEVEL,
            support_level=LEVEL,
            estimand=estimand,  # type: ignore[arg-type]
        )
        x = draw(rng, LOOKS[-1])
        for n in LOOKS:
            status = test.status(x[:n])
            if status != "open":
                return int(status == wrong)
        return 0

    return batch


def _supremum(delta: float) -> Batch:
    def batch(rng: np.random.Generator) -> int:
        best = rng.random((2, LOOKS[-1]))
        for n in LOOKS:
            decision = decide_supremum(list(best[:, :n]), [1 - delta] * 2, [delta] * 2, LEVEL)
            if decision.verdict is Verdict.REFUTED:
                return 1
        return 0

    return batch


def other_worlds() -> list[World]:
    """Printed numbers at the end of their tolerance, and limits exceeded with probability exactly
    delta.
    """
    unit, free = Knowledge(low=0.0, high=1.0), Knowledge(asymptotic=True)
    pareto = (lambda rng, n: rng.pareto(1.0, n), 1.0)
    worlds = []
    for wrong, error in (("fails", "false refutation"), ("holds", "false support")):
        cases = [
            ("range known", "fair coin", *BOUNDED["fair coin"], unit, "mean", 0.0),
            ("range known", "uniform, se 0.02", *BOUNDED["uniform"], unit, "mean", 0.02),
            ("asymptotic", "gamma, shape 4", *ASYMPTOTIC["gamma, shape 4"], free, "mean", 0.0),
            ("median", "Pareto, index 1", *pareto, free, "median", 0.0),
        ]
        for name, data, draw, truth, known, estimand, se in cases:
            batch = _reproduction(draw, truth, known, wrong, estimand, se)
            worlds.append(World(f"reproduction, {name}", error, data, batch, quick=40))
    worlds += [
        World("supremum", "false refutation", f"exceeded with delta = {d}", _supremum(d))
        for d in (0.01, 0.2)
    ]
    return worlds


WORLDS: tuple[World, ...] = (
    *probability_worlds(),
    *constant_worlds(),
    *rate_worlds(),
    *mean_worlds(),
    *threshold_worlds(),
    *comparison_worlds(),
    *other_worlds(),
    *benchmark_worlds(),
)

HEADING = """# Calibration

How often each procedure decides wrongly where that is easiest, at a nominal level of 5 per cent.
Means stand exactly at their bound, exponents and margins at their ends, and every batch is looked
at after 256, 512, 1,024 and 2,048 trials and stopped at the first verdict.  *Limits miss* counts
confidence limits that do not hold the truth, under the adaptive design with its early stop.  The
last column is an exact upper confidence limit (95 per cent) of the true rate.

Probabilities are looked at after 100, 200, 400, ..., 4,000 trials.  For constants, the only
constant that serves is the end of its box (*box*), or the required constant grows with m by exactly
the margin of the drift test, or by a tenth more (*drift*).  `tests/verify/test_calibration.py`
measures the power against planted falsehoods.

Written by `python -m tests.verify.calibration_worlds` (`tox -e calibration`).

| procedure | error | data | wrong | batches | rate | upper limit |
|---|---|---|---|---|---|---|
"""

NOTES = """
The limits are wider than a fixed sample's, because they hold at every look: with four looks and a
truth exactly at the bound most of the level is not used.

Asymptotic limits keep their level under heavy tails because most such samples are refused.  No
sample can prove that a tail is light, and a value that is rarer than one in the number of trials is
never seen.  That is why asymptotic limits have to be asked for, are labelled in the report, and
support down to the probability that a cell's trials resolve.

The mean of a rate's cell may be ruled by values that no trial has drawn.  So the verdict names a
floor: values whose probability, averaged over all trials, is at least the floor are drawn
somewhere, but for the level.  Sixteen cells of 1,024 trials have the floor {floor:.2g}.  Failures
at the floor give wrong verdicts as often as none of them is drawn.  Where one is drawn, it has most
of its cell's sum, and the claim is inconclusive.  Failures of 1e-4 lie below the floor: none is
drawn in one batch of five.  Such a batch is *SUPPORTED TO {floor:.2g}*, which is no error.

A benchmark is looked at after 4, 8, 12, 20, ..., 128 trials and stopped as soon as its contrast is
decided or narrow: two copies of one method under two names are separated far less often than in one
of twenty benchmarks.

The limits of a threshold assume monotony alone, and the stated sizes begin or end at the true one.
They miss it far less often than at the level, because their level covers every rule that chooses
sizes.  Limits from the profile likelihood of a model missed the step from .3 to .55 in 11 of 150
batches.  They decide nothing now.

A batch of the scaling of thresholds is six adaptive searches, a third of the CPU time of this page.
Its rows were made with profiles of the chi-square law.  Chernoff's, which are used now, are wider
by a fifth at 5 per cent, and serve as weights alone.
*Outside the scaling* a threshold is stated as of the order d c, and its claim names d alone.  The
required constant grows with c, or falls with it, by just the margin.
"""


def row(world: World, n_wrong: int, n_batches: int) -> str:
    """One line of the table."""
    test = binomtest(n_wrong, n_batches, alternative="less")
    high = test.proportion_ci(0.95, "exact").high
    rate = n_wrong / n_batches
    return (
        f"| {world.procedure} | {world.error} | {world.data} | {n_wrong} | {n_batches:,} | "
        f"{100 * rate:.2f} % | {100 * high:.2f} % |"
    )


def main(path: Path, only: Sequence[str] = ("",)) -> None:
    """Run worlds at full size and write the table.

    Parameters
    ----------
    only : how the names of the procedures begin that are run.  All other rows and the power of
        benchmarks are those of the page as it is.
    """
    page = path.read_text() if path.exists() else ""
    known = {tuple(line.split(" | ")[:3]): line for line in page.splitlines()}
    rows = []
    for world in WORLDS:
        if not world.procedure.startswith(tuple(only)):
            rows.append(known[f"| {world.procedure}", world.error, world.data])
            continue
        begin = time.process_time()
        rows.append(row(world, world.count(world.full), world.full))
        print(rows[-1], f"{time.process_time() - begin:.0f} s", flush=True)
    whole = "benchmark".startswith(tuple(only))
    power = power_table() if whole else "\n" + page[page.index(POWER_HEADING) :]
    path.write_text(HEADING + "\n".join(rows) + "\n" + NOTES.format(floor=FLOOR) + power)


if __name__ == "__main__":
    main(Path("docs/calibration.md"), sys.argv[1:] or ("",))
