r"""Where a federation stands to what is known of a method: its paper's theorem, or an exact law.

* *local*, *oracle*, *oracle-average*: the exact law of least squares with Gaussian features
  (`trials.laws.least_squares`) gives the expected error.
* *ifca*, *ifca-near*: Theorem 1 of Ghosh et al., corrected (claims ``ifca.thm1`` and
  ``ifca.thm1-own-step``), with the hidden constants of its claim.  It is about one step with fresh
  rows from a start within :math:`\alpha\Delta` of the optima, which *ifca-near* makes.  A run from
  a random start is outside.  The reason says whether the start is all.
* *odcl*: Theorem 1 of Armacki et al., corrected (claim ``odcl.psi-prob``), with the smallest
  verified constant of Lemma 2 (``odcl.lemma2-one``), which is about spectral k-means.  Its
  parameter space is a ball of 1.1 times the largest model.  Without bounded features and noise its
  requirement on n / log n is evaluated without the terms of the noise, and with a curvature of 1
  for each row.  So where even that is not met, the guarantee is vacuous.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trials.checks import FloatArray
from trials.models.mixture import cluster_sizes
from verify.benchmark.methods import Method

Place = Literal["inside", "outside", "vacuous", "none"]
#: The formula and the source at the end of a refusal, which the claim's own page has.
_FORMULA = re.compile(r"(?: = .*)?(?: \([A-Z][^()]*&.*)\Z")
#: Closeness of the start for which IFCA's other assumptions are tried.
ALPHA = 0.25


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What is known of a method on a federation.

    Attributes
    ----------
    place : ``inside`` the assumptions, ``outside`` them, ``vacuous``, or ``none`` where nothing of
        the suite is about the method.
    claim : the claim or the law.
    reason : the assumption that fails, or what is promised.
    bound : the promised mean of the metric ``error``, or None.
    """

    place: Place
    claim: str = ""
    reason: str = ""
    bound: float | None = None


NONE = Guarantee(place="none")


def guarantee(method: Method, federation: Mapping[str, Any]) -> Guarantee:
    """The place of a federation under what is known of the method."""
    if method.own or method.options:
        return NONE
    known = {
        "local": _least_squares,
        "oracle": _least_squares,
        "oracle-average": _least_squares,
        "ifca": _ifca,
        "ifca-near": _ifca,
        "odcl-km": _odcl,
        "odcl-spectral": _odcl,
    }.get(method.name)
    if known is None or "data" in federation:
        return NONE
    return known(method.name, federation)


def not_the_model(cell: Mapping[str, Any]) -> str:
    """Which part of a federation is not the Gaussian mixture of regressions, or an empty text."""
    wanted = {
        "response": "linear",
        "features": "gaussian",
        "noise_law": "gaussian",
        "condition": 1.0,
        "outliers": 0.0,
        "drift": 0.0,
        "sizes": "balanced",
        "k_told": cell["k"],
    }
    wrong = [f"{name}={cell[name]}" for name, value in wanted.items() if cell[name] != value]
    wrong += [f"{name} are given" for name in ("noises", "row_counts") if name in cell]
    return ", ".join(wrong)


def _clients(cell: Mapping[str, Any]) -> FloatArray:
    """(k,) clients of each cluster."""
    shares = np.array(cell["shares"]) if "shares" in cell else np.ones(cell["k"])
    return np.asarray(cluster_sizes(cell["m"], shares / shares.sum()), dtype=np.float64)


def _norms(cell: Mapping[str, Any]) -> float | None:
    """The squared norm of every true model, where the layout fixes it and all have the same."""
    k, separation = cell["k"], cell["separation"]
    if k == 1:
        return float(separation**2)
    if cell["layout"] == "simplex":
        return float(separation**2 * (k - 1) / (2 * k))
    return None


def _largest_norm(cell: Mapping[str, Any]) -> float | None:
    """The largest norm of a true model, or None where the layout has no bound of it."""
    norms = _norms(cell)
    if norms is not None:
        return math.sqrt(norms)
    k = cell["k"]
    if cell["layout"] == "close-pair" and cell["d"] >= k - 1:  # a simplex of four separations
        return float(4.0 * cell["separation"] * math.sqrt((k - 1) / (2 * k)))
    return None


def _least_squares(name: str, cell: Mapping[str, Any]) -> Guarantee:
    law = "exact law of least squares"
    # a number of clusters that is told wrongly changes neither a local fit nor an oracle's
    wrong = not_the_model({**cell, "k_told": cell["k"]})
    if wrong:
        return Guarantee(place="outside", claim=law, reason=wrong)
    n, d, clients = cell["n"], cell["d"], _clients(cell)
    rows = n * clients if name == "oracle" else np.full(clients.size, float(n))
    if rows.min() <= d + 1:
        return Guarantee(
            place="vacuous", claim=law, reason=f"{rows.min():g} rows of a fit and d={d}: no mean"
        )
    each = cell["sigma"] ** 2 * d / (rows - d - 1)
    if name == "oracle-average":
        each = each / clients
    mean = float(np.sum(each * clients) / clients.sum())
    norms = _norms(cell)
    bound = None if norms is None else mean / norms
    place: Place = "vacuous" if bound is not None and bound >= 1.0 else "inside"
    return Guarantee(place=place, claim=law, reason=f"mean squared error {mean:.3g}", bound=bound)


def _ifca(name: str, cell: Mapping[str, Any]) -> Guarantee:
    from bounds.ifca.hidden import HIDDEN
    from bounds.ifca.one_step import THEOREM_1, THEOREM_1_OWN_STEP
    from bounds.ifca.symbols import FLOOR
    from bounds.statement import OutsideTheorem, evaluate

    claim = "ifca.thm1-own-step" if name == "ifca-near" else "ifca.thm1"
    wrong = not_the_model(cell)
    if wrong:
        return Guarantee(place="outside", claim=claim, reason=wrong)
    if cell["sigma"] == 0 or cell["k"] < 2:
        return Guarantee(place="outside", claim=claim, reason="it needs sigma > 0 and k >= 2")
    largest = _largest_norm(cell)
    if largest is None:
        reason = f"layout={cell['layout']}, whose models have no bound"
        return Guarantee(place="outside", claim=claim, reason=reason)
    shares = _clients(cell) / cell["m"]
    values = {
        **{name: float(cell[name]) for name in ("m", "n", "d", "k", "sigma")},
        "Delta": cell["separation"],
        "alpha": ALPHA,
        "p": float(shares.min()),
        "p_max": float(shares.max()),
        "rho": (cell["separation"] / cell["sigma"]) ** 2,
        "theta_max": largest,
        **HIDDEN,
    }
    try:
        (THEOREM_1_OWN_STEP if name == "ifca-near" else THEOREM_1).require(values)
    except OutsideTheorem as error:
        return Guarantee(
            place="outside",
            claim=claim,
            reason=f"even from a start within Delta/4: {_FORMULA.sub('', str(error))}",
        )
    order = float(evaluate(FLOOR, values))
    if name == "ifca-near":
        return Guarantee(
            place="inside",
            claim=claim,
            reason=f"the step halves the distance to the optima, to the order of {order:.3g}",
        )
    return Guarantee(
        place="outside",
        claim=claim,
        reason="only because the start is random and rows are used again: a step with fresh rows "
        f"from within Delta/4 halves the error down to the order of {order:.3g}",
    )


def requirement(cell: Mapping[str, Any]) -> tuple[float, str]:
    """What Theorem 1 of ODCL asks of n / log n, and what has no bound, empty where all has.

    Bounds are those of the loss (y - <x, theta>)^2 / 2.  Where something has no bound, the terms of
    the noise are left out and L is 1: a lower bound of the requirement.
    """
    from bounds.odcl.recovery import THEOREM_1_MSE
    from bounds.odcl.symbols import ALPHA_KM
    from bounds.statement import evaluate

    norms = _norms(cell)
    largest = cell["separation"] / 2 if norms is None else math.sqrt(norms)
    radius = _RADIUS * largest
    at = {"m": float(cell["m"]), "size_min": float(_clients(cell).min()), "c": 1.0}
    wanted = THEOREM_1_MSE.assumptions[-1].right
    values = {str(s): 0.0 for s in wanted.free_symbols}
    values |= {
        "alpha": float(evaluate(ALPHA_KM, at)),
        "Delta": float(cell["separation"]),
        "d": float(cell["d"]),
        "R": radius,
        "L": 1.0,
        "mu": 1.0,
    }
    entry, noise = (_LARGEST_SQUARE.get(cell[name]) for name in ("features", "noise_law"))
    if entry is None or (noise is None and cell["sigma"] > 0):
        unbounded = "features" if entry is None else "noise_law"
        return float(evaluate(wanted, values)), f"{unbounded}={cell[unbounded]} have no bound"
    curvature = entry * cell["d"]
    values |= {
        "L": curvature,
        "N": cell["sigma"] * math.sqrt((noise or 0.0) * curvature),
        "F_star": cell["sigma"] ** 2 / 2,
        "G_F": radius + largest,
    }
    return float(evaluate(wanted, values)), "" if norms is not None else f"layout={cell['layout']}"


#: Radius of the parameter space over the largest norm of a model.  Theorem 1 asks for more than 1.
_RADIUS = 1.1
#: The largest square of an entry of features, or of noise, of variance 1.
_LARGEST_SQUARE = {"rademacher": 1.0, "uniform": 3.0}


def _odcl(name: str, cell: Mapping[str, Any]) -> Guarantee:
    claim = "odcl.psi-prob"
    if cell["response"] != "linear" or cell["condition"] != 1.0:
        return Guarantee(place="outside", claim=claim, reason="evaluated for linear responses only")
    if cell["outliers"] > 0 or cell["drift"] > 0:
        return Guarantee(place="outside", claim=claim, reason="clients outside their clusters")
    if cell["k"] < 2 or cell["k_told"] != cell["k"]:
        return Guarantee(place="outside", claim=claim, reason="it needs the right k >= 2")
    if cell["sizes"] != "balanced" or "row_counts" in cell or "noises" in cell:
        return Guarantee(place="outside", claim=claim, reason="clients of other sizes or noises")
    asked, unbounded = requirement(cell)
    has = cell["n"] / math.log(max(cell["n"], 2))
    if has <= asked:
        also = f"; {unbounded}" if unbounded else ""
        return Guarantee(
            place="vacuous",
            claim=claim,
            reason=f"it asks for n/log n > {asked:.3g} at least, and n/log n = {has:.3g}{also}",
        )
    if unbounded:
        return Guarantee(place="outside", claim=claim, reason=unbounded)
    if name != "odcl-spectral":
        return Guarantee(
            place="outside", claim=claim, reason="only because Lemma 2 is about spectral k-means"
        )
    fails = 2 * cell["m"] / cell["n"] ** 3
    return Guarantee(
        place="inside",
        claim=claim,
        reason=f"all clusters are recovered but for a probability of {fails:.1g}",
    )
