r"""The cells of IFCA's claims: parameters, hidden constants, grids and scattered points.

A cell of a theorem is given by (m, n', d, k, rho, alpha) and the sizes of the clusters.  The scale
is ``Delta = min(1, sqrt(rho))``, so that Delta and sigma are at most one.

`bounds.ifca.hidden` declares the hidden constants of Assumption 2.  A cell that does not meet the
assumptions with these constants is refused.  The cells that refute a statement meet the assumptions
with constants hundreds of times as large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import scipy

from bounds.ifca.hidden import HIDDEN
from bounds.ifca.one_step import THEOREM_1, THEOREM_1_OWN_STEP
from bounds.ifca.symbols import FLOOR
from bounds.statement import evaluate
from trials.checks import InvalidParameter
from trials.experiments.ifca.geometry import sizes_of
from trials.run.cell import Params

#: The step size constant for clusters within a factor two of each other: |1 - 2 c1 r| <= 1/3.
C_1 = 1.0 / 3.0


def cell(
    *,
    m: float,
    n: float,
    d: float,
    k: int,
    rho: float,
    alpha: float,
    scale: float = 1.0,
    **more: Any,
) -> dict[str, Any]:
    """Parameters of a step or a trajectory with signal-to-noise ratio ``rho``."""
    delta = scale * min(1.0, math.sqrt(rho))
    return {
        "m": round(m),
        "n": round(n),
        "d": round(d),
        "k": k,
        "Delta": delta,
        "sigma": delta / math.sqrt(rho),
        "alpha": float(alpha),
        "profile": "equal",
        "centers": "simplex",
        "init": "random",
        **more,
    }


def largest_norm(params: Params) -> float:
    """The largest norm of an optimum, or a limit on it where the optima are drawn.

    In d >= 30 two random unit vectors are more than one half apart, so norms stay below 2 Delta.
    """
    k: int = params["k"]
    delta: float = params["Delta"]
    limits: dict[str, float] = {
        "simplex": delta * math.sqrt((k - 1) / (2 * k)),
        "line": delta * (k - 1) / 2,
        "random": 2 * delta,
        "bernoulli": 2 * delta,
    }
    return limits[params["centers"]]


def values(params: Params) -> dict[str, float]:
    """A cell in the statements' symbols.  Fractions are computed from whole clients."""
    shares = sizes_of(params) / params["m"]
    if params["sigma"] == 0:
        raise InvalidParameter(
            "sigma=0 must be > 0: rho = Delta^2/sigma^2 is a symbol of the theorem"
        )
    rho = (params["Delta"] / params["sigma"]) ** 2
    if not 0 < rho < math.inf:
        raise InvalidParameter(
            f"Delta={params['Delta']:g}, sigma={params['sigma']:g}: rho = Delta^2/sigma^2 must be "
            "a positive number within floating point"
        )
    return {
        **{name: float(params[name]) for name in ("m", "n", "d", "k", "Delta", "sigma", "alpha")},
        "p": float(shares.min()),
        "p_max": float(shares.max()),
        "rho": rho,
        "theta_max": largest_norm(params),
        **HIDDEN,
    }


def regressors(params: Params) -> dict[str, float]:
    """The positive numbers in which drift and rates are tested."""
    v = values(params)
    return {name: v[name] for name in ("m", "n", "d", "k", "rho", "p")}


def floor(params: Params) -> float:
    r"""The statistical term :math:`(\sigma/p)\sqrt{d/(mn')}` of a cell."""
    return float(evaluate(FLOOR, values(params)))


def one_large(ratio: float) -> Params:
    """Parameters of sizes with one cluster ``ratio`` times as large as each other."""
    return {"profile": "one-large", "ratio": ratio} if ratio > 1 else {}


Row = tuple[float, ...]


def scaled(base: Row, columns: Sequence[int], factors: Sequence[float]) -> list[Row]:
    """``base`` with one column at a time multiplied by each factor."""
    return [
        tuple(x * factor if i == column else x for i, x in enumerate(base))
        for column in columns
        for factor in factors
    ]


def grid(columns: Sequence[str], rows: Sequence[Row], **more: Any) -> tuple[Params, ...]:
    """Cells from rows of ``m, n', d, k, rho, gap`` (and further named columns)."""
    cells = []
    for row in rows:
        named: dict[str, Any] = dict(zip(columns, row, strict=True))
        named["alpha"] = 0.5 - named.pop("gap")
        named["k"] = int(named["k"])
        cells.append(cell(**named, **more))
    return tuple(cells)


COLUMNS = ("m", "n", "d", "k", "rho", "gap")

#: The statistical floor rules at the optimum.  There c2 is fitted on small cells.  Then it is tried
#: on fresh cells, where each parameter alone, and then several together, lie at least 4 times
#: outside the fitted range, and it is watched for drift.
AT_OPTIMUM = 1e-7
CALIBRATION = tuple(
    (*row, AT_OPTIMUM)
    for row in (
        (64, 4000, 16, 2, 4),
        (64, 16000, 64, 3, 16),
        (128, 4000, 32, 3, 4),
        (128, 16000, 16, 4, 8),
        (256, 4000, 64, 2, 16),
        (256, 8000, 16, 3, 16),
        (256, 16000, 32, 4, 4),
        (64, 8000, 32, 2, 8),
        (128, 8000, 64, 2, 4),
        (256, 16000, 64, 4, 16),
    )
)
HELD_OUT = tuple(
    (*row, AT_OPTIMUM)
    for row in (
        (16384, 16000, 64, 2, 16),
        (2048, 8000, 32, 3, 8),
        (10, 16000, 16, 2, 16),
        (256, 1_024_000, 64, 3, 16),
        (256, 64_000, 32, 2, 8),
        (256, 400, 16, 2, 16),
        (256, 16000, 1024, 2, 16),
        (256, 16000, 10_000, 2, 16),
        (256, 16000, 256, 2, 16),
        (256, 16000, 32, 16, 16),
        (256, 16000, 64, 16, 8),
        (256, 16000, 32, 3, 1000),
        (256, 16000, 32, 2, 0.25),
        (256, 16000, 32, 2, 0.1),
        (10_000_000, 1_000_000, 1000, 16, 1000),
        (10_000, 100_000_000, 64, 8, 1e-3),
        (100_000, 1_000_000, 512, 16, 64),
        (1000, 400, 1500, 2, 100),
    )
)
#: Away from the optimum the contraction rules: closeness from 0.01 to 0.4999.
ELSEWHERE = (
    (256, 16000, 32, 2, 16, 0.47),
    (256, 16000, 32, 3, 16, 1e-4),
    (16384, 16000, 64, 2, 16, 0.02),
    (10, 16000, 16, 2, 16, 0.02),
    (256, 400, 16, 2, 16, 0.02),
    (256, 16000, 10_000, 2, 16, 0.1),
    (256, 16000, 32, 16, 16, 0.02),
    (256, 16000, 32, 2, 0.1, 0.02),
    (10_000_000, 1_000_000, 1000, 16, 1000, 0.25),
    (10_000_000, 3_000_000, 10_000, 16, 16, 0.49),
    (10_000, 100_000_000, 64, 8, 1e-3, 0.02),
    (100_000, 1_000_000, 512, 16, 64, 1e-3),
    (1000, 400, 1500, 2, 100, 0.25),
)

#: pmn' = 64 d, the least that Assumption 2 allows, almost without noise and with some.
EDGE = (
    (100, 180, 90, 2, 1e6, 0.1),
    (1000, 500, 1100, 2, 1e8, 0.25),
    (1000, 400, 500, 8, 200, 0.1),
    (100_000, 600, 28_000, 16, 1e8, 0.25),
    (10_000_000, 20_000, 80_000_000, 16, 1e4, 0.4),
)

#: The same for own step sizes.  The smallest fraction is a parameter of its own.
OWN_COLUMNS = (*COLUMNS, "p_min")
OWN_CALIBRATION = tuple(
    (*row[:5], AT_OPTIMUM, row[5])
    for row in (
        (4096, 4000, 32, 2, 4, 0.2),
        (4096, 16000, 64, 3, 16, 0.05),
        (8192, 4000, 32, 3, 4, 0.1),
        (8192, 16000, 20, 4, 8, 0.05),
        (16384, 4000, 64, 2, 16, 0.05),
        (16384, 8000, 20, 3, 16, 0.2),
        (16384, 16000, 32, 4, 4, 0.1),
        (4096, 8000, 32, 2, 8, 0.1),
        (8192, 8000, 64, 2, 4, 0.2),
        (16384, 16000, 64, 4, 16, 0.05),
    )
)
OWN_HELD_OUT = tuple(
    (*row[:5], AT_OPTIMUM, row[5])
    for row in (
        (1_000_000, 16000, 64, 2, 16, 0.1),
        (65_536, 8000, 32, 3, 8, 0.2),
        (500, 16000, 20, 2, 16, 0.2),
        (16384, 1_024_000, 64, 3, 16, 0.1),
        (16384, 64_000, 32, 2, 8, 0.05),
        (16384, 400, 20, 2, 16, 0.2),
        (16384, 16000, 256, 3, 8, 0.1),
        (16384, 8000, 1024, 2, 16, 0.1),
        (8192, 16000, 4096, 2, 16, 0.2),
        (16384, 16000, 10_000, 2, 16, 0.2),
        (16384, 16000, 32, 16, 16, 0.05),
        (16384, 16000, 20, 16, 16, 0.05),
        (16384, 16000, 32, 3, 1000, 0.1),
        (16384, 16000, 32, 2, 0.25, 0.1),
        (16384, 16000, 32, 2, 16, 0.01),
        (16384, 16000, 20, 3, 16, 1 / 150),
        (10_000_000, 1_000_000, 1000, 16, 1000, 1 / 800),
        (100_000, 200_000_000, 64, 8, 1e-3, 1 / 400),
        (1_000_000, 1_000_000, 512, 16, 64, 1 / 800),
    )
)
OWN_ELSEWHERE = (
    (16384, 16000, 32, 2, 16, 0.46, 0.1),
    (16384, 16000, 32, 3, 16, 1e-4, 0.05),
    (500, 16000, 20, 2, 16, 0.02, 0.2),
    (16384, 16000, 10_000, 2, 16, 0.1, 0.2),
    (16384, 16000, 32, 2, 16, 0.02, 0.01),
    (10_000_000, 1_000_000, 1000, 16, 1000, 0.25, 1 / 800),
    (10_000_000, 3_000_000, 10_000, 16, 16, 0.49, 1 / 800),
    (100_000, 200_000_000, 64, 8, 1e-3, 0.02, 1 / 400),
    (1_000_000, 1_000_000, 512, 16, 64, 1e-3, 1 / 800),
)


def scattered(n_cells: int, columns: Sequence[str], gap: Sequence[float]) -> tuple[Params, ...]:
    """Cells over the theorem's whole domain, all parameters at once, that meet its assumptions.

    The cells are scrambled Sobol points (fixed seed) in the logarithms of the parameters.  m runs
    from 10 to 1e7, d from 10 to 1e4, k from 2 to 16 and rho from 1e-3 to 1e3.  The gap is varied
    where it has a range.  With ``p_min`` among the columns, k p runs from 1/50 to 1/2.  n' is 1 to
    256 times the least that Assumption 2 allows.  Points at which some assumption fails with the
    declared constants are left out.
    """
    own = "p_min" in columns
    statement = THEOREM_1_OWN_STEP if own else THEOREM_1
    cells: list[Params] = []
    for u in scipy.stats.qmc.Sobol(7, seed=2022).random_base2(11):
        m, d, rho, beyond = (
            low * (high / low) ** x for x, (low, high) in zip(u, _RANGES, strict=False)
        )
        k, left = int(2 * 8.49 ** u[4]), gap[0] * (gap[1] / gap[0]) ** u[5]
        alpha = 0.5 - left
        need = HIDDEN["C_n"] * ((rho + 1) / (alpha * rho)) ** 2 * math.log(m)
        p_min = 0.02 * 25 ** u[6] / k
        sizes = {"p_min": float(p_min), "profile": "one-small", "step_rule": "c/p_j"} if own else {}
        if m < k / p_min if own else m < 4 * k:
            continue
        n = 1.01 * beyond * max(need, HIDDEN["C_N"] * d * k / m)
        shape = ("simplex", "line", "random", "bernoulli")[len(cells) % 4]
        # Random centres crowd in few dimensions and take long to draw in many.
        if shape != "line" and not 30 <= d <= 500:
            shape = "simplex"
        scale = min(1.0, 4.0 / (k - 1)) if shape == "line" else 1.0
        params = cell(m=m, n=n, d=d, k=k, rho=rho, alpha=alpha, centers=shape, scale=scale, **sizes)
        if all(a.holds(values(params)) for a in statement.assumptions):
            cells.append(params)
        if len(cells) == n_cells:
            break
    return tuple(cells)


#: Ranges of m, d, rho and of n' over the least that is allowed.
_RANGES = ((10.0, 1e7), (10.0, 1e4), (1e-3, 1e3), (1.0, 256.0))


def within_a_quarter(cells: Sequence[Params]) -> tuple[Params, ...]:
    """The same cells with starts within Delta/4, and as many samples as the conference asks for."""
    moved = []
    for params in cells:
        rho = (params["Delta"] / params["sigma"]) ** 2
        need = 16 * HIDDEN["C_n"] * ((rho + 1) / rho) ** 2 * math.log(params["m"])
        n = max(params["n"], math.ceil(1.001 * need))
        moved.append({**params, "alpha": max(params["alpha"], 0.25), "n": n})
    return tuple(moved)


STARTS = ("random", "adversarial", "orthogonal", "translation")


def in_every_direction(cells: Sequence[Params]) -> tuple[Params, ...]:
    """The same cells with every start direction in turn."""
    return tuple({**c, "init": STARTS[(i + i // 4) % 4]} for i, c in enumerate(cells))


def with_shapes(cells: Sequence[Params]) -> tuple[Params, ...]:
    """The same cells with every start direction in turn, every other one with unequal clusters.

    Clusters stay equal where whole clients cannot keep the ratio below two, or where the smaller p
    would not meet Assumption 2.
    """
    shaped = []
    for i, params in enumerate(cells):
        init = STARTS[(i + i // 4) % 4]
        unequal = {**params, "init": init, "profile": "geometric", "ratio": 1.9}
        possible = all(a.holds(values(unequal)) for a in THEOREM_1.assumptions)
        shaped.append(unequal if i % 2 and possible else {**params, "init": init})
    return tuple(shaped)


def _two_clusters() -> Iterator[Params]:
    """k = 2, closeness down to 0.01, every start direction, sizes up to 1.9 times the smallest."""
    for alpha, rho, m, dimensions in (
        (0.01, 4.0, 200, (20, 200, 2000, 20_000)),
        (0.01, 100.0, 1000, (20, 200, 2000, 20_000)),
        (0.02, 1.0, 100, (20, 100, 500, 2000)),
        (0.05, 16.0, 100, (20, 100, 500, 1500)),
        (0.02, 0.1, 100, (20, 100, 500, 2000)),
    ):
        need = HIDDEN["C_n"] * ((rho + 1) / (alpha * rho)) ** 2 * math.log(m)
        for init, d in zip(STARTS, dimensions, strict=True):
            equal = cell(m=m, n=1.05 * need, d=d, k=2, rho=rho, alpha=alpha, init=init)
            yield equal
            yield {**equal, "profile": "geometric", "ratio": 1.9}


TWO_CLUSTERS_CELLS = tuple(_two_clusters())
