r"""Lemma 11: the features and the noise of any few clients.

Problem. The wrongly labelled clients are chosen by the data.  How large can the features and the
noise of any clients with a share nu of the rows be?

Guarantee. `bounds.sxy.subsets`: their squares are at most nu log(e/nu) up to a constant.

Algorithm. Experiment ``sxy.subsets``: the exact supremum of the noise and of one feature by
sorting, and a lower limit for many features by choosing clients and direction in turn.

Computation. Constants exhibited by argument.  At most exp(N nu log(e/nu)) sets of rows are that
small, and the norm of one is at most sqrt(N_I) + sqrt(2 t) with probability 1 - exp(-t).  Take
t = N nu log(e/nu) + d, which is at most 2 N nu log(e/nu) where nu >= d/N.  So C = (1 + 2)^2 = 9
serves for the noise.  The features add sqrt(d): C = (1 + 1 + 2)^2 = 16.  The same union bound, with
the exact chi-square tail, limits the probabilities.

Reference. Lemma 11, (37).
"""

from __future__ import annotations

import math

import sympy as sp
from scipy import special

from bounds.gaussian import chi_square_log_above
from bounds.statement import Statement
from bounds.sxy.subsets import (
    LEMMA_11_EQUAL_SIZES,
    LEMMA_11_PHI,
    LEMMA_11_PHI_SEARCHED,
    LEMMA_11_ZETA,
)
from bounds.sxy.symbols import N, d, nu, sigma
from trials.checks import FloatArray
from trials.experiments.sxy.deviation import sizes_of
from trials.experiments.sxy.subsets import SUBSETS
from trials.run.cell import Params
from trials.run.store import Table
from verify.claim import claim
from verify.claims.common import explicit
from verify.claims.sxy.label_errors import NORMS
from verify.decisions.measures import LOWEST
from verify.evidence import Verdict
from verify.procedures.base import Profile, Sampling
from verify.procedures.probability import Probability
from verify.procedures.sup_lower_bound import SupLB
from verify.proofs.cells import ExactTail
from verify.proofs.terms import ChiSquareTail

CELLS: tuple[Params, ...] = (
    {"M": 1000, "n": 1, "d": 1, "nu": 0.001},
    {"M": 1000, "n": 1, "d": 5, "nu": 0.01, "sigma": 0.1},
    {"M": 500, "n": 10, "d": 2, "nu": 0.1},
    {"M": 100, "n": 20, "d": 20, "nu": 0.5, "sigma": 100.0},
    {"M": 400, "n": 1, "n_many": 10, "n_large": 100, "d": 5, "nu": 0.1},
    {"M": 50, "n": 4, "d": 2, "nu": 1.0},
    {"M": 20_000, "n": 1, "d": 5, "nu": 0.001},
)
#: So few of the rows that the logarithm is more than half of the constant.
_FEW_ROWS: Params = {"M": 20_000, "n": 1, "d": 5, "nu": 0.00025}

#: Shares for which the limit is below the features of all clients, with 2 to 20 features.  In two
#: of them the logarithm is more than two thirds of the constant.
_FEW_CLIENTS: tuple[Params, ...] = (
    {"M": 40_000, "n": 1, "d": 2, "nu": 5e-5},
    {"M": 4_000, "n": 10, "d": 3, "nu": 0.002},
    {"M": 20_000, "n": 1, "d": 20, "nu": 0.004},
    _FEW_ROWS,
)


def _symbols(params: Params) -> dict[str, float]:
    full = SUBSETS.check(params)
    rows = float(sizes_of(full).sum())
    return {"N": rows, **{name: full[name] for name in ("d", "n", "nu", "sigma")}}


def _log_sets(params: Params) -> tuple[float, int]:
    """Log of the number of sets of rows, and the rows of the largest."""
    at = _symbols(params)
    rows = max(math.floor(at["N"] * at["nu"] * (1 + 1e-12)), 1)
    return at["N"] * at["nu"] * math.log(math.e / at["nu"]), rows


def _rows(params: Params) -> dict[str, float]:
    """The rows of the largest set."""
    return {"rows": float(_log_sets(params)[1])}


_BOUND, _ROWS = sp.symbols("bound rows")
_SETS = (sp.E / nu) ** (N * nu)
NOISE_OF_SETS = ExactTail(
    idea="The squared noise of a set of rows over $\\sigma^2$ is chi-square with as many degrees "
    "as rows. There are at most $(e/\\nu)^{N\\nu}$ sets. The certificate compares the sum over "
    "them.",
    lemmas=("union-bound",),
    limit=_SETS * ChiSquareTail(_ROWS, _BOUND * N / sigma**2),
)
NOISE_OF_CLIENTS = ExactTail(
    idea="The squared noise of a set of clients over $\\sigma^2$ is chi-square with as many "
    "degrees as rows. The certificate compares the sum over all sets of so many clients.",
    lemmas=("union-bound",),
    limit=sp.Symbol("sets") * ChiSquareTail(_ROWS, _BOUND * N / sigma**2),
)
FEATURES_OF_SETS = ExactTail(
    idea="The theorem limits the norm of the features of one set of rows. There are at most "
    "$(e/\\nu)^{N\\nu}$ sets. The certificate compares the sum over them.",
    lemmas=("union-bound", "davidson-szarek"),
    limit=_SETS * sp.exp(-(sp.Max(sp.sqrt(_BOUND * N) - sp.sqrt(_ROWS) - sp.sqrt(d), 0) ** 2) / 2),
)


def _log_noise(params: Params, bound: float) -> float:
    """Log of the union bound over sets of rows, with the exact chi-square tail."""
    at, (sets, rows) = _symbols(params), _log_sets(params)
    return max(sets + chi_square_log_above(rows, bound * at["N"] / at["sigma"] ** 2), LOWEST)


def _log_features(params: Params, bound: float) -> float:
    """The same with Davidson & Szarek's tail of the largest singular value."""
    at, (sets, rows) = _symbols(params), _log_sets(params)
    excess = math.sqrt(bound * at["N"]) - math.sqrt(rows) - math.sqrt(at["d"])
    return float(max(sets - 0.5 * max(excess, 0.0) ** 2, LOWEST))


def _sampling(profile: Profile) -> Sampling:
    return Sampling(experiment=SUBSETS, max_trials=min(profile.max_trials, 2048), first=64)


@claim("sxy.lemma11-zeta", LEMMA_11_ZETA, finding=NORMS)
def lemma_11_zeta(statement: Statement, profile: Profile) -> Probability:
    """The exact supremum of the noise, C = 9."""
    return explicit(
        statement,
        {"C": 9.0},
        _sampling(profile),
        (*CELLS, _FEW_ROWS),
        _symbols,
        lambda table: table["zeta"],
        "the noise of some few clients exceeding its limit",
        log_tail=_log_noise,
        known=_rows,
        tail=NOISE_OF_SETS,
    )


@claim("sxy.lemma11-phi", LEMMA_11_PHI)
def lemma_11_phi(statement: Statement, profile: Profile) -> Probability:
    """The features, C = 16: clients found by search, and the union bound for all of them."""
    return explicit(
        statement,
        {"C": 16.0},
        _sampling(profile),
        (*CELLS, *_FEW_CLIENTS),
        _symbols,
        lambda table: table["phi"],
        "the features of some few clients exceeding their limit",
        log_tail=_log_features,
        known=_rows,
        tail=FEATURES_OF_SETS,
    )


@claim("sxy.lemma11-phi-searched", LEMMA_11_PHI_SEARCHED, expected=Verdict.INCONCLUSIVE)
def lemma_11_phi_searched(statement: Statement, profile: Profile) -> SupLB:
    """Clients and direction chosen in turn, up to 20 features, against the statement with C = 3."""

    def best(table: Table, _params: Params) -> FloatArray:
        return table["phi"]

    return SupLB(
        statement=statement,
        sampling=Sampling(experiment=SUBSETS, max_trials=min(profile.max_trials, 64), first=64),
        cells=tuple(cell for cell in CELLS if cell["d"] > 1),
        best=best,
        optimiser="Clients with the largest features in a direction and the direction in turn",
        values=_symbols,
    )


#: As few rows as the condition allows, shares down to 3e-4 (three clients).
EQUAL_CELLS: tuple[Params, ...] = (
    {"M": 100, "n": 4, "d": 3, "nu": 0.1},
    {"M": 1000, "n": 4, "d": 20, "nu": 0.1, "sigma": 100.0},
    {"M": 3000, "n": 6, "d": 3, "nu": 0.01, "sigma": 0.1},
    {"M": 5000, "n": 8, "d": 3, "nu": 0.001},
    {"M": 10_000, "n": 10, "d": 3, "nu": 3e-4},
)


@claim("sxy.lemma11-equal-sizes", LEMMA_11_EQUAL_SIZES)
def lemma_11_equal_sizes(statement: Statement, profile: Profile) -> Probability:
    """The exact supremum of the noise over whole clients, C = 9."""

    def clients(params: Params) -> dict[str, float]:
        """The number of sets of clients, and the rows of one."""
        chosen = round(params["nu"] * params["M"])
        return {"sets": math.comb(params["M"], chosen), "rows": chosen * params["n"]}

    def log_tail(params: Params, bound: float) -> float:
        """The union bound over sets of clients, with the exact chi-square tail."""
        at = _symbols(params)
        chosen = round(at["nu"] * params["M"])
        sets = special.gammaln(params["M"] + 1) - special.gammaln(chosen + 1)
        sets -= special.gammaln(params["M"] - chosen + 1)
        above = chi_square_log_above(chosen * params["n"], bound * at["N"] / at["sigma"] ** 2)
        return max(float(sets) + above, LOWEST)

    return explicit(
        statement,
        {"C": 9.0},
        _sampling(profile),
        EQUAL_CELLS,
        _symbols,
        lambda table: table["zeta"],
        "the noise of some few clients exceeding its limit",
        log_tail=log_tail,
        known=clients,
        tail=NOISE_OF_CLIENTS,
    )
