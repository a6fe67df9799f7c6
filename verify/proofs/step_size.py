r"""No step size works for clusters of very unequal sizes: a proof for one cell and every c > 0.

The step is :math:`\gamma=c/p` with p the smallest share.  Take a cluster that has s of the m
clients, all of them with the right model, at distance u.  Then :math:`N=sn` samples enter.  Let
:math:`a=2\gamma/(mn)=2c/(s_{\min}n)` and :math:`K\sim\chi^2_N`.  The first coordinate of the new
error is :math:`u(1-aK)-a\sigma\sqrt K\,w` with :math:`w\sim N(0,1)` (`trials.laws.step`).

* Let :math:`c\le c^*`.  If the smallest cluster's new error is at most b, then
  :math:`w\ge(u(1-aK)-b)/(a\sigma\sqrt K)`.  The right side falls in a and in K, so on
  :math:`K\le K_2` it is at least :math:`x_1`, its value at :math:`c^*` and :math:`K_2`.
* Let :math:`c\ge c^*`.  If the largest cluster's new error is at most b, then
  :math:`-w\ge(u(aK-1)-b)/(a\sigma\sqrt K)`.  The right side grows in a and in K, so on
  :math:`K\ge K_1` it is at least :math:`x_2`, its value at :math:`c^*` and :math:`K_1`.

Hence for every c the bound b holds with probability at most

.. math:: q_K+e^{-x^2/2}+q_L,

with Chernoff's limit :math:`q_K` on K leaving its range and the limit :math:`q_L` on a client with
a wrong model (`trials.laws.step_tail`).  Where this is below :math:`1-\delta`, the statement fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import sympy as sp

from bounds.statement import Statement
from trials.checks import InvalidParameter
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.terms import Term, from_sympy, rational


def no_step_size_serves(
    statement: Statement,
    values: Mapping[str, float],
    sizes: Sequence[int],
    spread: Fraction = Fraction(1, 100),
) -> Certificate:
    """A certificate that, in one cell, the statement fails for every step size c/p.

    Parameters
    ----------
    statement : bounds the largest error of a cluster after one step.  Its bound and its failure
        probability are used with every constant at the generous end of its box.
    values : the cell in the statement's symbols.  Every model starts (1/2 - alpha) Delta away.
    sizes : (k,) clients of each cluster, ascending.
    spread : K stays within this fraction of its mean, except with a probability that is added.

    Raises
    ------
    NotProved
        When the cell does not exclude every step size.
    """
    if len(sizes) < 2 or list(sizes) != sorted(sizes):
        raise InvalidParameter(f"sizes={list(sizes)} must be two or more, ascending")
    exact: dict[str, float | Fraction] = dict(values)
    for constant in statement.constants:
        if constant.generous != "choose":
            exact[constant.name] = constant.most_generous
    exact["err"] = (Fraction(1, 2) - Fraction(values["alpha"])) * Fraction(values["Delta"])
    cell = _Cell(exact, sizes, spread, from_sympy(statement.expr, exact))
    delta = from_sympy(statement.failure or sp.Integer(0), exact)
    return certificate(
        f"Let $c^*={float(cell.split):.4g}$. For every $c\\le c^*$ the smallest cluster, and for "
        "every $c\\ge c^*$ the largest, stays above the bound with more than the stated "
        "probability, all other constants at the generous end of the box.",
        [
            *cell.inequalities(0, "smallest", delta),
            *cell.inequalities(-1, "largest", delta),
        ],
    )


class _Cell:
    """The terms of the argument in one cell."""

    def __init__(
        self,
        values: Mapping[str, float | Fraction],
        sizes: Sequence[int],
        spread: Fraction,
        bound: Term,
    ) -> None:
        self.values, self.sizes, self.spread, self.bound = values, sizes, spread, bound
        self.n = int(values["n"])
        ratio = Fraction(sizes[-1], sizes[0])
        # Between 3/(4 ratio), where the largest cluster begins to fail, and 1/4.
        self.split = (Fraction(3, 4) / ratio / (1 - spread) + Fraction(1, 4) / (1 + spread)) / 2
        self.a = 2 * self.split / (sizes[0] * self.n)

    def inequalities(self, cluster: int, name: str, delta: Term) -> list[Inequality]:
        """That the deviation is positive, and that the bound holds too rarely."""
        sign = 1 if cluster == 0 else -1
        mean = Fraction(self.sizes[cluster] * self.n)
        edge = mean * (1 + sign * self.spread)
        start = Fraction(self.values["err"])
        # (u |1 - a K| - b) / (a sigma sqrt K) at the edge of K
        missed: Term = ["+", rational(start * sign * (1 - self.a * edge)), ["-", self.bound]]
        scale: Term = ["*", rational(self.a * Fraction(self.values["sigma"])),
                       ["sqrt", rational(edge)]]  # fmt: skip
        normal: Term = ["exp", ["-", ["*", "1/2", ["^", missed, "2"], ["^", scale, "-2"]]]]
        hits: Term = ["+", _chi_square(mean, sign * self.spread), normal, self._labels()]
        return [
            Inequality(
                says=f"the {name} cluster's mean step misses the bound",
                left=missed,
                relation=">",
                right="0",
            ),
            Inequality(
                says=f"the {name} cluster meets the bound with probability below 1 - delta",
                left=hits,
                relation="<",
                right=["+", "1", ["-", delta]],
            ),
        ]

    def _labels(self) -> Term:
        """Limit on the probability that some client takes a wrong model."""
        radius, delta = Fraction(self.values["err"]), Fraction(self.values["Delta"])
        margin = delta / 2 - radius
        signal = margin**2 / (radius**2 + Fraction(self.values["sigma"]) ** 2)
        pairs = sum(self.sizes) * (len(self.sizes) - 1)
        power: Term = ["^", rational(1 + signal), rational(Fraction(-self.n, 2))]
        return ["*", str(pairs), power]


def _chi_square(n: Fraction, deviation: Fraction) -> Term:
    """Chernoff's limit on a chi-square variable's relative deviation from its mean n."""
    log: Term = ["log", rational(1 + deviation)]
    exponent: Term = ["*", rational(-n / 2), ["+", rational(deviation), ["-", log]]]
    return ["exp", exponent]
