r"""Cells of one strongly convex step in which one term of a bound rules, near its edge.

A bound that is a sum hides a false term where another one is larger.  The cells here are drawn over
several decades of every symbol.  Then the noise v and the deviation eta of a loss are set so that
one term rules:

* *noise*: hardly any stranger, and a noise term that is a stated share of the contraction;
* *stranger*: a stranger, or a lost client, in hardly more steps than may fail;
* *crowd*: strangers in far larger numbers than the own clients, and far more noise;
* *quiet*: next to no noise and no strangers, so that the contraction alone is seen;
* *strangers' noise*, *strangers' pull*: for the bounds on the strangers' part alone.

Noise has rare jumps (`trials.experiments.ifca.strongly_convex`), one in hardly more steps than may
fail.  So Markov's and Chebyshev's inequalities, from which the bounds come, are nearly attained.

The numbers are drawn from a fixed seed, before any trial and without a look at one.

`far_cells` and `far_part_cells` are for bounds with the constants of a proof, which are 10 to 300
times as large as what they bound.  One symbol at a time lies there so far from the others that a
bound with another symbol in its place is too small even so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from trials.experiments.ifca import strongly_convex as experiments
from trials.experiments.ifca.strongly_convex import SC_STEP
from trials.run.cell import Params

#: How much more often the rare event happens than the statement allows.
OFTEN = 1.2
#: In every fourth cell it happens this often, and a jump is just longer than two uses of Markov's
#: inequality allow: a much smaller probability of failure is false there.
SELDOM = 0.42
#: So little that it does not count.
TINY = 1e-7


def more_often(failure: float, often: float = OFTEN) -> float:
    """The mean of a Poisson number that is positive with about ``often`` times this probability.

    >>> round(more_often(0.1), 3)
    0.126
    """
    return -often * math.log1p(-failure)


def draw(n_cells: int, seed: int, *, widest: float = 1.0, least_n: float = 1.0) -> Iterator[Params]:
    """Shapes over decades of every symbol, the noise v and the deviation eta left open.

    One cell of three has two clusters, one curvature and distant optima: there a
    stranger moves the model as far as it can.  One has more clusters.  One has many curvatures
    and a large closeness, where the gap of Lemma 3 is nearly attained as well.  The clusters differ
    by up to a factor 200 in size, and the smallest and the largest one are followed in turn.

    Parameters
    ----------
    widest : largest norm of an optimum.
    least_n : smallest number of samples.
    """
    rng = np.random.default_rng(seed)
    for i in range(n_cells):
        u = iter(rng.random(12))

        def log_uniform(low: float, high: float, u: Iterator[float] = u) -> float:
            return float(f"{low * (high / low) ** next(u):.3g}")

        attaining, many = i % 3 == 0, i % 3 == 2
        k = 2 if attaining else int(log_uniform(2.0 + i % 2, 17.0))
        norm = log_uniform(0.4 if attaining else 0.01, 0.99) * widest
        smooth, ratio = log_uniform(0.05, 200.0), log_uniform(1.0, 200.0)
        # Theorem 2 asks for 8 log(mn') clients in the smallest of the clusters
        least_m = 300.0 * (1.0 + ratio * (k - 1))
        yield {
            "k": k,
            "d": k - 2 + int(log_uniform(1.0, 40.0)),
            "m": int(log_uniform(least_m, 1e4 * least_m)),
            "n": int(log_uniform(least_n, 1e6 * least_n**0.5)),
            "ratio": ratio,
            "shape": "one-large" if i % 4 > 1 else "one-small",
            "Delta": float(f"{norm / math.sqrt((k - 1) / (2 * k)):.3g}"),
            "L": smooth,
            "lam": float(f"{smooth * log_uniform(0.02, 0.2):.3g}") if many else smooth,
            "alpha": log_uniform(0.3 if many else 0.01, 0.45),
            "delta": log_uniform(0.003, 0.25),
            "cluster": "largest" if i % 2 else "smallest",
            "start": "edge",
        }


def own_share(cell: Params) -> float:
    """The share of the followed cluster's clients."""
    counts = experiments.sizes(SC_STEP.check(cell))
    return float(counts[-1 if cell["cluster"] == "largest" else 0] / cell["m"])


def with_wrong(cell: Params, wrong: float) -> Params:
    """The cell whose clients are mislabelled with this probability, by the deviation eta."""
    full = SC_STEP.check(cell)
    n, k = full["n"], full["k"]
    # The equation that defines a spike gives eta where the probability is given: no root is sought.
    rival = -math.expm1(math.log1p(-wrong) / n) / (k - 1)
    needed = _standard(1.0 / n, (k - 1) * rival) + _standard(1.0 / n, rival)
    return {**cell, "eta": float(f"{experiments.gap(full) / needed:.4g}")}


def _standard(value: float, chance: float) -> float:
    """A value less the mean of a yes or no of this chance, over its standard deviation."""
    return (value - chance) / math.sqrt(chance * (1.0 - chance))


def with_strangers(cell: Params, mean: float) -> Params:
    """The cell with so many strangers on average."""
    others = cell["m"] * (1.0 - own_share(cell)) / (cell["k"] - 1)
    return with_wrong(cell, mean / others)


def with_changes(cell: Params, mean: float) -> Params:
    """The cell with so many strangers on average, or so many lost clients if there are more."""
    own = own_share(cell)
    return with_wrong(cell, mean / (cell["m"] * max(own, (1.0 - own) / (cell["k"] - 1))))


def decrease(cell: Params) -> float:
    """What the step takes off the error where all labels are right."""
    rate = own_share(cell) * cell["lam"] / cell["L"]
    return float(rate * experiments.radius(SC_STEP.check(cell)))


def jump(cell: Params, clients: float, rare: float) -> float:
    """The length by which one jump moves the model, for v = 1."""
    return float(math.sqrt(clients / (rare * cell["n"])) / (cell["m"] * cell["L"]))


def seldom(cell: Params) -> Params:
    """The cell with a failure probability that few trials tell from the share `SELDOM` of it."""
    return {**cell, "delta": max(cell["delta"], 0.1)}


def noise_cells(n_cells: int, seed: int, *, share: float, widest: float = 1.0) -> list[Params]:
    """A jump of the own clients' noise is ``share`` of the decrease, strangers are absent."""
    cells: list[Params] = []
    for i, drawn in enumerate(draw(n_cells, seed, widest=widest)):
        cell = seldom(drawn) if i % 4 == 3 else drawn
        rare = more_often(cell["delta"], SELDOM if i % 4 == 3 else OFTEN)
        length = jump(cell, own_share(cell) * cell["m"], rare)
        v = float(f"{share * decrease(cell) / length:.4g}")
        cells.append({**with_strangers(cell, TINY), "v": v, "rare": rare})
    return cells


def stranger_cells(n_cells: int, seed: int, *, widest: float = 1.0) -> list[Params]:
    """A stranger comes hardly more often than the statement may fail, without noise."""
    cells: list[Params] = []
    for cell in draw(n_cells, seed, widest=widest):
        v = TINY * cell["L"] * math.sqrt(cell["n"] / cell["m"])
        filled = with_changes(cell, more_often(cell["delta"]))
        cells.append({**filled, "v": float(f"{v:.4g}")})
    return cells


def crowd_cells(n_cells: int, seed: int, *, widest: float = 1.0) -> list[Params]:
    """A small cluster with many strangers, whose gradients' noise is above everything else."""
    cells: list[Params] = []
    for cell in draw(n_cells, seed, widest=widest):
        rare = more_often(cell["delta"])
        small = {**cell, "ratio": 30.0 * cell["ratio"], "m": 30 * cell["m"]}
        small |= {"cluster": "smallest", "shape": "one-small"}
        filled = with_wrong(small, 0.1 / cell["k"])
        strangers = small["m"] * (1.0 - own_share(small)) * 0.1 / cell["k"] / (cell["k"] - 1)
        v = 100.0 * cell["Delta"] / cell["delta"] / jump(small, strangers, rare)
        cells.append({**filled, "v": float(f"{v:.4g}"), "rare": rare})
    return cells


def quiet_cells(n_cells: int, seed: int, *, widest: float = 1.0) -> list[Params]:
    """Next to no noise and no strangers."""
    cells: list[Params] = []
    for cell in draw(n_cells, seed, widest=widest):
        length = math.sqrt(own_share(cell) / (cell["m"] * cell["n"])) / cell["L"]
        v = float(f"{1e-4 * decrease(cell) / length:.4g}")
        cells.append({**with_strangers(cell, TINY), "v": v})
    return cells


def part_cells(
    n_cells: int, seed: int, *, failure: float, pulled: bool, widest: float = 1.0
) -> list[Params]:
    """Cells for the strangers' part of a step alone.

    ``failure`` is the stated probability of failure over ``delta``.  With ``pulled`` the mean pull
    of the strangers rules and is nearly attained, and without it their noise.
    """
    cells: list[Params] = []
    for i, drawn in enumerate(draw(n_cells, seed, widest=widest, least_n=1e4)):
        below = i % 4 == 3 and not pulled
        cell = seldom(drawn) if below else drawn
        often = more_often(failure * cell["delta"], SELDOM if below else OFTEN)
        mean = often if pulled else 10.0 * (1 + i % 3)
        ratio = 0.02 if pulled else 300.0
        length = jump(cell, mean, often) * cell["m"] / mean  # of a jump, over that of one stranger
        filled = with_strangers(cell, mean)
        cells.append({**filled, "v": float(f"{ratio / length:.4g}"), "rare": often})
    return cells


def random_pull(cell: Params) -> float:
    """How far strangers move a model on average where each cluster's clients spread evenly."""
    optima, start, curvature = experiments.models(cell)
    own = 0 if cell["cluster"] == "smallest" else cell["k"] - 1
    strangers = experiments.sizes(cell) / cell["k"]
    strangers[own] = 0.0
    pull = strangers @ ((start[own] - optima) * curvature) / (cell["m"] * cell["L"])
    return float(np.linalg.norm(pull))


def informing_cells(
    n_cells: int, seed: int, terms: Callable[[Params], tuple[float, float]]
) -> list[Params]:
    """Cells in which neither labels at random nor gradients of one sample meet a bound.

    The pull and the fluctuation in it are a quarter of the pull of random labels each.  Clients and
    samples are so many that there are strangers, and that the mean over a client's samples counts.

    Parameters
    ----------
    terms : ``cell -> `` the two terms of the bound: the pull, which grows with the square of eta,
        and the fluctuation, which is proportional to v.
    """
    cells: list[Params] = []
    for drawn in draw(n_cells, seed, least_n=1e6):
        m, n = max(drawn["m"], 10**8), max(drawn["n"], 10**9)
        cell = {**drawn, "m": m, "n": n, "delta": max(drawn["delta"], 0.1), "eta": 1.0, "v": 1.0}
        wanted = 0.25 * random_pull(SC_STEP.check(cell))
        pull, _ = terms(cell)
        cell["eta"] = float(f"{math.sqrt(wanted / pull):.4g}")
        _, fluctuation = terms(cell)
        cells.append({**cell, "v": float(f"{wanted / fluctuation:.4g}")})
    return cells


#: A plain shape: two equal clusters, one curvature, every unit one.
_PLAIN: Params = {
    "m": 10**8,
    "n": 10**10,
    "k": 2,
    "d": 1,
    "ratio": 1.0,
    "Delta": 1.0,
    "lam": 1.0,
    "L": 1.0,
    "alpha": 0.3,
    "delta": 0.5,
    "start": "edge",
    "cluster": "smallest",
}
#: Shapes in which one symbol lies far from the others, for a term with samples and curvatures.
_FAR_SHAPES: tuple[Params, ...] = (
    {"m": 10**4, "n": 10**13},
    {"m": 10**13, "n": 1, "d": 1_000, "delta": 0.9},
    {"lam": 1e-5, "L": 1e-5},
    {"lam": 100.0, "L": 100.0, "m": 10**6, "n": 10**6},
    {"Delta": 0.01},
    {"alpha": 1e-4},
    {"lam": 1e-4, "alpha": 0.37},
)
#: How far the noise moves a model in those cells, where everything else is about one at most.
_RULES = 1e3


def _noisy(cell: Params, length: float) -> Params:
    """The cell with gradients whose noise moves a model by ``length`` for one client of each."""
    v = length * cell["L"] * math.sqrt(cell["m"] * cell["n"])
    return {**cell, "v": float(f"{v:.4g}")}


def far_crowds() -> list[Params]:
    """A tenth of all clients are strangers in a small cluster, hardly any noise."""
    shapes = (*_FAR_SHAPES, {"delta": 0.9, "alpha": 0.05, "wrong": 0.028})
    cells: list[Params] = []
    for shape in shapes:
        cell = {**_PLAIN, "ratio": 999.0, **shape}
        wrong = cell.pop("wrong", 0.1)
        cell["m"] = max(cell["m"], 10**6)  # 8 log(mn') clients of the small cluster
        little = 1e-6 * cell["Delta"] * (cell["lam"] / cell["L"]) ** 2
        cells.append(_noisy(with_wrong(cell, wrong), little))
    return cells


def rare_strangers() -> list[Params]:
    """One stranger at an optimum, where the step takes nothing off the error.

    It comes three times as often as a small delta allows, or less often than a large one and more
    often than the smallest share and than 1/k.
    """
    rows = (
        ({"delta": 0.003, "Delta": 1.9}, 3 * 0.003),
        ({"delta": 0.9, "Delta": 1.9, "m": 10**5, "ratio": 99.0}, 0.115),
        ({"delta": 0.9, "Delta": 1.4, "k": 64, "d": 63}, 0.03),
    )
    return [
        _noisy(with_strangers({**_PLAIN, "alpha": 0.49, "start": "optimum", **shape}, mean), 1e-12)
        for shape, mean in rows
    ]


def many_rivals() -> list[Params]:
    """A stranger more often than the step may fail, of many other clusters or in many dimensions.

    There is hardly any noise.  The more clusters there are, the more clients may come, and in any
    dimension a stranger pulls as far.  So no bound on its pull falls with k or d.  With this
    closeness the gap of Lemma 3 is nearly attained for all clusters at once.  With 1,000 clusters a
    bound over the root of k is below one stranger's pull.
    """
    shape = {**_PLAIN, "alpha": 0.49, "delta": 0.1, "start": "optimum"}
    sizes = (
        {"k": 64, "d": 63, "Delta": 1.4},
        {"d": 1_000, "Delta": 1.9},
        {"k": 1_000, "d": 999, "Delta": 1.4},
    )
    mean = more_often(shape["delta"], 1.6)
    return [_noisy(with_strangers({**shape, **size}, mean), 1e-12) for size in sizes]


def half_of_all() -> Params:
    """The noise of a cluster with half of all clients, beside 999 others at their optima.

    The largest share is then so far above 1/(k^2 p) that a floor over k is below its noise.
    """
    shape = {"k": 1_000, "d": 1_000, "shape": "one-large", "ratio": 999.0, "cluster": "largest"}
    cell = {**_PLAIN, **shape, "delta": 0.9, "start": "optimum"}
    return _noisy(with_strangers(cell, TINY), 1.0)


def many_jumps() -> Params:
    """Strangers' jumps more often than the step may fail, of 63 other clusters."""
    shape = {"k": 64, "d": 63, "Delta": 1.4, "alpha": 0.49, "delta": 0.1, "start": "optimum"}
    rare = more_often(0.1)
    return {**_noisy(with_strangers({**_PLAIN, **shape}, 10.0), _RULES), "rare": rare}


def far_cells() -> list[Params]:
    """Cells for one whole step: noise or strangers rule, one symbol far from the others."""
    noise = [_noisy(with_strangers({**_PLAIN, **shape}, TINY), _RULES) for shape in _FAR_SHAPES]
    # a jump for a small delta, and one just above the bound where delta is large
    rows = (
        ({"delta": 1.5e-4, "alpha": 0.45, "Delta": 1.9}, 4.5e-4),
        ({"delta": 0.9, "alpha": 1e-4, "Delta": 1e-4}, 2.5e-3),
    )
    jumps = [
        {**_noisy(with_strangers({**_PLAIN, **shape}, TINY), _RULES), "rare": rare}
        for shape, rare in rows
    ]
    # contraction alone, of a small cluster, with a deviation of the losses near one
    still = {**_PLAIN, "m": 10**7, "n": 10**15, "ratio": 999.0, "eta": 0.9}
    return [*noise, *jumps, _noisy(still, 1e-9), *far_crowds(), *rare_strangers()]


def small_failure_cells() -> list[Params]:
    """A jump a hundred, or eight, times as often as a failure probability that no trial sees.

    The exact law of the number of jumps decides there.
    """
    rows = ((1e-8, 1e-6), (1e-6, 8e-6))
    return [
        {**_noisy(with_strangers({**_PLAIN, "delta": delta}, 1e-9 * delta), _RULES), "rare": rare}
        for delta, rare in rows
    ]


def far_part_cells() -> list[Params]:
    """The same for the part of the strangers alone: their number, or their noise, rules."""
    noise = []
    for shape in _FAR_SHAPES:
        cell = {**_PLAIN, **shape}
        noise.append(_noisy(with_wrong(cell, 0.1), _RULES))
    return [*noise, *far_crowds(), *rare_strangers()]
