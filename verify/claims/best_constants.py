r"""The best constants of the papers' bounds, proved in both directions (`verify.proofs.best`).

python -m verify.claims.best_constants            the table of `docs/proofs.md`
python -m verify.claims.best_constants --write    find all certificates anew, and store them
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import sympy as sp

from bounds.ifca.lemma_3 import L, X, lam, v
from bounds.ifca.matrices import DEVIATION
from bounds.ifca.strongly_convex_step import RIGHT, delta_0
from bounds.ifca.symbols import Delta, alpha, c, c_1, err, gamma, k, m, n, p
from bounds.odcl import recovery
from bounds.odcl import symbols as odcl
from bounds.odcl.local_fits import grad
from bounds.sxy import symbols as sxy
from verify.papers import catalogue
from verify.proofs.best import CONSTANT, Best, proofs, table

C = CONSTANT
_ONE, _HALF, _QUARTER = sp.Integer(1), sp.Rational(1, 2), sp.Rational(1, 4)

_SHAPE = {"L": 1, "lam": 1, "delta_0": 1}
_STEP = {**_SHAPE, "correct": 1, "p_j": 1, "m": 1, "n": 1, "v": 1}
_TWO_POINTS = (
    "With one sample, two models and $\\lambda=L$ there is a law with two points, of which "
    "ifca.lemma3-attained gives the probability $4X/(1+4X)$ of a wrong label."
)
_SPIKES = {"Delta": 1, "lam": 1, "n": 1, "alpha": _QUARTER, "gap": _QUARTER}
#: The exponent of the normal tail, where it is of order one below that of the bound.
_FAR = 4 / (C - _HALF) + 4
_TAIL = 1 + _FAR

IFCA = (
    Best(claim="ifca.eq20", form=2 * sp.exp(-C * DEVIATION**2), stated=c, best=_HALF, fails=">",
         at={"r": 1, "v": 0, "x": _FAR},
         left=sp.log(2) - _TAIL**2 / 2 - 1 - sp.log((1 + _TAIL**2) / _TAIL),
         by="For $X$ of rank one the norm is $\\sigma\\norm X_F|g|$ with a normal $g$, and "
         "$P(|g|>t)\\ge\\sqrt{2/\\pi}\\frac t{1+t^2}e^{-t^2/2}$ (Gordon, Ann. Math. Statist. 12, "
         "1941), where $\\sqrt{2\\pi}<e$.",
         on_the_way=(("log", (1 + _TAIL**2) / _TAIL),)),
    Best(claim="ifca.lemma3-gap", form=C * alpha * lam * Delta**2, stated=_ONE, best=_ONE,
         fails=">", at={"L": 1, "lam": 1, "curvature": 1, "Delta": 1, "alpha": _QUARTER, "own": 1,
                        "rival": 1},
         by="Take quadratic losses of curvature one on a line, and models between the optima."),
    Best(claim="ifca.lemma3", form=C * X, stated=c_1, best=sp.Integer(4), fails="<",
         at={**_SPIKES, "eta": sp.sqrt(4 - C) / 16}, by=_TWO_POINTS),
    Best(claim="ifca.lemma3-union", form=C * k * X, stated=c_1, best=sp.Integer(2), fails="<",
         at={**_SPIKES, "k": 2, "eta": sp.sqrt(2 - C) / 16}, by=_TWO_POINTS,
         left=(2 - C) / (4 + 2 - C)),
    Best(claim="ifca.eq27", form=C * L, stated=sp.Integer(3), best=sp.Integer(3), fails="<",
         at={"L": 1, "lam": 1, "theta_max": 1, "Delta": 2, "alpha": (3 - C) / 8},
         by="Take quadratic losses of curvature one on a line, and the model on the far side."),
    Best(claim="ifca.eq22-sharp", form=(1 - C * gamma * lam) * err, stated=_ONE, best=_ONE,
         fails=">", printed="ifca.eq22",
         at={"L": 1, "lam": 1, "gamma": _HALF, "cosine": 1, "err": 1},
         by="Take a quadratic loss of curvature one."),
    Best(claim="ifca.eq23", form=v / (delta_0**C * sp.sqrt(n * RIGHT)), stated=_ONE, best=_HALF,
         fails="<", at={**_STEP, "delta_0": sp.exp(-2)}, on_the_way=(("exp", 1 - 2 * C),),
         by="A deviation of one length, with a probability just above $\\delta_0$ and else zero, "
         "comes as near as one likes."),
    Best(claim="ifca.eq25", form=C * v / (delta_0 * L * sp.sqrt(p * m * n)), stated=sp.Integer(2),
         best=_HALF, fails="<", at={**_STEP, "smaller": 1, "p_j": _HALF}),
    Best(claim="ifca.thm2-contraction", form=1 - C * p * lam / L, stated=sp.Rational(1, 8),
         best=_QUARTER, fails=">", at={**_STEP, "correct": _QUARTER, "smaller": 1, "m": 4},
         by="Take a quadratic loss of one curvature, and a quarter of the clients."),
)  # fmt: skip

_SIMPLEX = (
    "For clusters at the corners of a regular simplex the flows $(\\mu_k-\\mu_l)/m$ make all "
    "means one."
)
#: Lemma 11: the curvature at the optimum, the root, and what is left of the limit of the gradient.
_STEEP = odcl.mu * (1 - odcl.rho / 2)
_ROOT = sp.sqrt(_STEEP**2 - 2 * odcl.H * grad)
_ROOM = ("*", 2, odcl.H, odcl.rho * odcl.mu**2 * (1 - odcl.rho) / (4 * odcl.H) - grad)
_LEAST = odcl.mu * (1 - 3 * odcl.rho / 2)
_LEMMA_11 = (
    (">", 1 - odcl.rho / 2, 0, ("sum", 1, ("+", _HALF, (1 - odcl.rho) / 2))),
    (">=", _ROOT**2, 0,
     ("sum", 1, ("+", odcl.mu**2 * (_QUARTER + 3 * (1 - odcl.rho) ** 2 / 4), _ROOM))),
    (">=", _ROOT, _LEAST, ("square", _ROOT, _LEAST),
     ("sum", 1, ("+", 3 * odcl.mu**2 * odcl.rho * (1 - odcl.rho) / 2, _ROOM))),
    (">", _ROOT + _STEEP, 0, ("sum", 1, ("+", _ROOT, ("*", odcl.mu, 1 - odcl.rho / 2)))),
    ("sum", odcl.mu * (1 - odcl.rho) * (_ROOT + _STEEP), ("*", grad, _ROOT - _LEAST)),
)  # fmt: skip
ODCL = (
    Best(claim="odcl.eq24", form=C * odcl.total_sq, stated=sp.Integer(4), best=_ONE,
         fails="<", at={"F": ({"x": 1}, {"x": -1})}),
    Best(claim="odcl.lemma9", form=C * (odcl.k - 1) * (odcl.variance / (odcl.n * odcl.size_k)
                                                      + odcl.floor_sq),
         stated=sp.Integer(4), best=_ONE, fails="<",
         at={"n": 1, "size_k": 2, "variance": 1, "F": ({"weight": _HALF, "x": 1},)}),
    Best(claim="odcl.lemma11", form=C * grad / ((1 - odcl.rho) * odcl.mu),
         stated=sp.Integer(2), best=_ONE, fails="<",
         at={"H": 1, "mu": 1, "rho_k": 1, "rho": (1 - C) / 2, "grad": (1 - C) * (1 + C) / 32},
         hints=_LEMMA_11,
         by="The flattest loss that $E$ allows is a loss on the line with these numbers."),
    Best(claim="odcl.thm3-threshold", form=C * odcl.c**2 * odcl.m * odcl.M_bar
         / (odcl.Delta**2 * odcl.size_min), stated=sp.Integer(64), best=sp.Integer(16), fails="<",
         at={"Delta": 1, "M_bar": 1, "c": 1, "m": 4, "size_k": 2, "size_l": 2, "size_min": 2,
             "spread": 4},
         by="The fits of each of two clusters of two users have opposite errors."),
    Best(claim="odcl.eq7-sharp", form=recovery.largest * (C - 2 / odcl.size_k),
         stated=sp.Integer(2), best=sp.Integer(2), fails="<", printed="odcl.eq7",
         at={"largest": 1, "own": 1, "F": ({"x": -1},)}),
    Best(claim="odcl.eq13-sharp", form=C * odcl.gap / odcl.m, stated=_ONE, best=_ONE, fails=">",
         printed="odcl.eq13-upper", by=_SIMPLEX,
         at={"gap": 1, "m": 2, "masses": 2, "squares": 1, "lengths": 1, "lam": _HALF}),
    Best(claim="odcl.lemma1-sharp", form=C * odcl.m / odcl.size_min, stated=sp.Integer(2),
         best=sp.Integer(2), fails="<", printed="odcl.lemma1",
         at={"radius": 1, "diameter_k": 2, "size_k": 2, "size_min": 2, "fused": 1, "gap": 1,
             "m": 4, "merged": _QUARTER},
         by=f"{_SIMPLEX} A cluster with half of its points on each side of its mean is one from "
         "its diameter over its size on only."),
    Best(claim="odcl.def2-fixed-point", form=C, stated=sp.Integer(2), best=sp.Integer(2),
         fails="<", at={"distance": 1, "gap": 1, "radius": 1, "deviation": 1, "axis": 1}),
    Best(claim="odcl.lemma4-beta", form=C * odcl.R**4 * odcl.d / (odcl.alpha * odcl.n)**2,
         stated=256 * sp.exp(-2), best=256 * sp.exp(-2), fails="<",
         at={"R": 1, "d": 1, "alpha": 1, "n": 2}),
)  # fmt: skip

SXY = (
    Best(claim="sxy.prop2-factor", form=sxy.v**2 * (1 - C * sxy.alpha**2 / sxy.beta**2),
         stated=sp.Rational(1, 8), best=sp.Rational(3, 4), fails=">",
         at={"alpha": 1, "beta": 1, "v": 1, "x": 1}, by="The covariance is the identity."),
    Best(claim="sxy.eq15", form=C * (sxy.dist * sxy.clusters_phi + sxy.zeta_S)**2,
         stated=sp.Integer(2), best=_ONE, fails="<",
         at={"clusters_phi": 1, "dist": 1, "own": 1, "zeta_S": 1},
         by="One client with one row $\\phi=1$ and noise $-1$ has a model that is one too large, "
         "and another model that meets its response."),
    Best(claim="sxy.eq35", form=C * sxy.alpha * sxy.Delta**2, stated=sp.Rational(1, 3),
         best=sp.Rational(1, 3), fails=">",
         at={"alpha": 1, "beta": 1, "Delta": 1, "epsilon": sp.Rational(1, 3)}),
)  # fmt: skip
BEST = {each.claim: each for each in (*IFCA, *ODCL, *SXY)}
#: Claim -> the certificates of the statements of `Best.documents`, in their order.
CERTIFICATES = Path(__file__).with_name("best_constants.json")


def main(arguments: list[str]) -> None:
    """Print the table, or store certificates."""
    claims = catalogue()
    if arguments == ["--write"]:
        found = {name: proofs(each, claims[name]) for name, each in BEST.items()}
        text = json.dumps(found, separators=(",", ":"), sort_keys=True)
        CERTIFICATES.write_text(text.replace('],"', '],\n"') + "\n", encoding="utf-8")
        return
    print(table(BEST.values(), claims))


if __name__ == "__main__":
    main(sys.argv[1:])
