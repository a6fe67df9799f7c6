"""What each statistical claim of the paper is compared with: a run that does nothing, or why none.

`verify.procedures.placebos` says what an entry means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trials.checks import FloatArray
from trials.experiments.sxy.clients import stability_of
from trials.experiments.sxy.descents import NOT_GROUPED
from trials.experiments.sxy.deviation import SIZES, sizes_of, skewness
from trials.experiments.sxy.moments import shares_of
from trials.experiments.sxy.refinement import N_ROUNDS
from trials.experiments.sxy.two_phases import SUCCESS
from trials.run.cell import Params
from trials.run.store import Table
from verify.procedures.placebos import Control, Entry, Placebo, Trivial

Column = Callable[[Table, Params], FloatArray]


def _each(value: Callable[[Params], float]) -> Column:
    """The same number in every trial of a cell."""
    return lambda table, cell: np.full(table.n_trials, value(cell))


def _drawn(draw: Callable[[np.random.Generator, int, Params], Any]) -> Column:
    """Numbers drawn with a fixed seed."""
    return lambda table, cell: np.asarray(draw(np.random.default_rng(1), table.n_trials, cell))


def _about(value: Callable[[Params], float]) -> Column:
    """The same number up to a thousandth, since a rate is fitted with the trials' own errors."""
    return _drawn(lambda rng, n, cell: value(cell) * (1.0 + 1e-3 * rng.standard_normal(n)))


# --- Phase 1 --------------------------------------------------------------------------------------


def _in_unit(cell: Params, squared: float) -> float:
    """A square in units of delta^2 + sigma^2, where delta is one."""
    return float(squared / (1.0 + cell["sigma"] ** 2))


def _random_subspace(rng: np.random.Generator, n: int, cell: Params) -> FloatArray:
    """The share of a fixed vector that a uniformly random subspace of k of d dimensions keeps."""
    k, d = min(cell["k"], cell["d"]), cell["d"]
    return rng.beta(k / 2, (d - k) / 2, n) if d > k else np.ones(n)


ZERO_MATRIX = Placebo(
    name="the zero matrix in place of Y",
    columns={"deviation": _about(lambda cell: _in_unit(cell, float(shares_of(cell).max())))},
)
ZERO_ANCHOR = Placebo(
    name="the zero matrix in place of A",
    columns={"deviation": _each(lambda cell: 1 / (1 + cell["outside"] ** 2 + cell["sigma"] ** 2))},
)
NO_SUBSPACE = Trivial(
    name="no subspace loses more than the residual",
    columns={"lost": _each(lambda cell: _in_unit(cell, float(shares_of(cell).max())))},
)
NO_ESTIMATE = Placebo(
    name="zero in place of the estimate",
    columns={"length_error": _each(lambda cell: _in_unit(cell, cell["short"] ** 2))},
)
ANY_SUBSPACE = Placebo(
    name="a subspace at random",
    columns={
        "kept": _drawn(_random_subspace),
        "lost": _drawn(lambda rng, n, cell: 0.5 * (1 - _random_subspace(rng, n, cell))),
        "lost_last": _drawn(lambda rng, n, cell: 0.5 * (1 - _random_subspace(rng, n, cell))),
    },
)
ANY_DIRECTION = Placebo(
    name="a direction at random",
    columns={
        "kept": _drawn(lambda rng, n, cell: rng.beta(0.5, (cell["k"] - 1) / 2, n)),
        "right_sign": _drawn(lambda rng, n, _cell: rng.integers(0, 2, n).astype(float)),
    },
)
NO_ITERATION = Placebo(
    name="a start without an iteration", params=lambda cell: {**cell, "half_steps": 0}
)
DRAWN_START = Control(name="a start drawn before the data", columns={"chosen": "drawn"})
RESTING_ANCHORS = Placebo(
    name="anchors that stay at their start", columns={"worst": "err_0", "centres": NOT_GROUPED}
)

# --- Phase 2 --------------------------------------------------------------------------------------

START = Placebo(
    name="a run that stays at its start",
    columns={**{f"err_{t}": "err_0" for t in range(1, N_ROUNDS + 1)}, "client": "err_0"},
)
ALL_WRONG = Trivial(
    name="by (15), with every client in the set of wrong labels",
    columns={"pull": _each(lambda cell: 2.0 * (cell["near"] * cell["Delta"] + cell["sigma"]))},
)
NO_ROWS = Placebo(name="a cluster without rows", columns={"smallest": 0.0, "decrease": 0.0})
TRACE = Trivial(
    name="the trace of the matrix",
    columns={"largest": _each(lambda cell: cell["s"] * cell["d"] * cell["beta"])},
)
ALL_NOISE = Trivial(
    name="all noise in one direction",
    columns={
        "noise": _each(lambda cell: cell["sigma"] ** 2 * cell["M"] * cell["n"]),
        "pull": _each(lambda cell: cell["s"] * cell["sigma"] * np.sqrt(cell["beta"])),
    },
)
LOCAL_FITS = Placebo(
    name="a client's own least squares",
    columns={"floor_squared": _about(lambda cell: cell["sigma"] ** 2 * cell["d"] / cell["n"])},
)
GROWS_WITH_KAPPA = Control(
    name="an error that is linear in kappa",
    columns={"floor_squared": lambda table, cell: table["floor_squared"] * stability_of(cell) ** 2},
)
ONE_STEP = Placebo(
    name="one local step of the same size", columns={"decrease": _about(lambda cell: cell["gamma"])}
)


def _heaviest(cell: Params) -> float:
    """The largest supremum: all weight on one of V points."""
    sizes = sizes_of(SIZES.check({name: cell[name] for name in ("M", "n", "n_many", "n_large")}))
    return float(sizes.sum() * (1.0 - 1.0 / cell["V"]))


ALL_WEIGHT = Trivial(name="all weight on one point", columns={"sup": _each(_heaviest)})
A_SHARE = Trivial(name="a share is at most one", columns={"upper": 1.0})
A_SHARE_IN_THE_BALL = Trivial(name="a share is at most one", columns={"ball": 1.0})
RANDOM_LABELS = Placebo(name="labels at random", columns={"ball": 0.5})
ANY_MODELS = Placebo(
    name="models in a direction at random",
    columns={
        "found": _drawn(
            lambda rng, n, cell: np.abs(
                rng.normal(0.0, 0.5 * np.sqrt(skewness(cell) / cell["M"]), n)
            )
        )
    },
)
ALL_CLIENTS = Trivial(
    name="all clients",
    columns={"zeta": _each(lambda cell: cell["sigma"] ** 2), "phi": 1.0},
)

# --- Both phases, and IFCA ------------------------------------------------------------------------


def _coarse_fails(table: Table, _cell: Params) -> FloatArray:
    """Whether Phase 1 ends outside the limit of success."""
    return np.asarray(table["coarse"] > SUCCESS, dtype=np.float64)


PHASE_1_ALONE = Placebo(name="Phase 1 alone", columns={"phases": "coarse"})
RANDOM_START = Placebo(name="a random start without Phase 1", columns={"phases": "once"})

#: Runs of ``sxy.end-to-end`` that leave out one phase, or both.
_END_TO_END = (
    Placebo(name="Phase 1 alone", columns={"both": "coarse"}),
    Placebo(name="Phase 2 from a random start", columns={"both": "random"}),
    Placebo(name="a run that stays at its start", columns={"both": "start"}),
)
NO_ROUNDS = Placebo(name="random models without rounds", columns={"n_successful": "n_inside"})

LOWER_LIMIT = "a lower limit of a supremum never supports"
PLACEBOS: dict[str, Entry] = {
    "sxy.lemma3": (ZERO_MATRIX,),
    "sxy.lemma3-sharp": (ZERO_MATRIX,),
    "sxy.lemma6": (ZERO_ANCHOR,),
    "sxy.lemma6-sharp": (ZERO_ANCHOR,),
    "sxy.prop1": (NO_SUBSPACE,),
    "sxy.prop1-sharp": (NO_SUBSPACE,),
    "sxy.prop2-19": (NO_ESTIMATE,),
    "sxy.prop2-19-sharp": (NO_ESTIMATE,),
    "sxy.prop1-rate-gap": (ANY_SUBSPACE,),
    "sxy.prop1-rate-no-gap": (ANY_SUBSPACE,),
    "sxy.prop1-gap": (ANY_SUBSPACE,),
    "sxy.prop1-gap-law": (ANY_SUBSPACE,),
    "sxy.thm1-threshold-m": (ANY_SUBSPACE,),
    "sxy.thm1-threshold-l": (ANY_DIRECTION,),
    "sxy.every-start": (DRAWN_START,),
    "sxy.lemma5": (NO_ITERATION,),
    "sxy.lemma15": "a law of one random matrix: nothing is run",
    "sxy.rounds-in-k": "an upper exponent of a number of rounds, which no rounds at all have too",
    "sxy.thm1-4-data": (RESTING_ANCHORS,),
    "sxy.thm1-5": (RESTING_ANCHORS,),
    "sxy.lemma7-lower": (NO_ROWS,),
    "sxy.lemma7-upper": (TRACE,),
    "sxy.lemma8": (ALL_NOISE,),
    "sxy.noise-floor": (ALL_NOISE,),
    "sxy.noise-floor-rate": (LOCAL_FITS,),
    "sxy.floor-in-kappa": (GROWS_WITH_KAPPA,),
    "sxy.thm2-decrease": (NO_ROWS,),
    "sxy.thm2-rate": (ONE_STEP,),
    "sxy.lemma12": (ALL_WEIGHT,),
    "sxy.mcdiarmid-31": "a tail of one random sum: nothing is run",
    "sxy.uniform-32": (ALL_WEIGHT,),
    "sxy.uniform-32-line": (A_SHARE,),
    "sxy.uniform-32-searched": LOWER_LIMIT,
    "sxy.uniform-32-rate": (ANY_MODELS,),
    "sxy.uniform-32-in-k": (ALL_WEIGHT,),
    "sxy.eq36": (A_SHARE_IN_THE_BALL, RANDOM_LABELS),
    "sxy.lemma11-zeta": (ALL_CLIENTS,),
    "sxy.lemma11-equal-sizes": (ALL_CLIENTS,),
    "sxy.lemma11-phi": (ALL_CLIENTS,),
    "sxy.lemma11-phi-searched": LOWER_LIMIT,
    "sxy.lemma2": (ALL_WRONG,),
    "sxy.lemma2-sharp": (ALL_WRONG,),
    "sxy.thm2-contraction": (START,),
    "sxy.thm2-floor": (START,),
    "sxy.thm2-floor-sharp": (START,),
    "sxy.unbalanced": (START,),
    "sxy.per-client": (START,),
    "sxy.dominated": (START,),
    "sxy.dominated-large": (
        Placebo(name="a run that stays at its start", columns={"end": "start"}),
    ),
    "sxy.saving-runs": (
        Placebo(name="a run that stays at its start", side="many", columns={"many": 1.0}),
        Placebo(name="a run that stays at the start", side="single", columns={"single": 1.0}),
    ),
    "sxy.thm3-global": (PHASE_1_ALONE, RANDOM_START),
    "sxy.end-to-end": _END_TO_END,
    "sxy.end-to-end-worst": _END_TO_END,
    "sxy.end-to-end-against-random": (
        Placebo(name="Phase 1 alone", columns={"fail_both": "fail_coarse"}, side="both phases"),
    ),
    "sxy.end-to-end-grows": (
        Placebo(name="a run that stays at its start", columns={"fail_both": 1.0}),
    ),
    "sxy.ifca-restarts": (
        Placebo(name="a run that stays at its start", side="phases", columns={"fail_phases": 1.0}),
        Placebo(name="Phase 1 alone", side="phases", columns={"fail_phases": _coarse_fails}),
    ),
    "sxy.ifca-restarts-in-d": (NO_ROUNDS,),
    "sxy.ifca-restarts-in-k": (NO_ROUNDS,),
    "sxy.ifca-restarts-in-k-large": (NO_ROUNDS,),
    "sxy.ifca-restarts-many": (Placebo(name="one start of IFCA", columns={"best": "once"}),),
}
