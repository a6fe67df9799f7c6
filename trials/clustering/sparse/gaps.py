r"""Duality gaps of a path without flows, from flows at few of its penalties.

Flows y on all edges, at most penalty times weight, give the lower bound

.. math:: D(y) = \tfrac12 |a|^2 - \tfrac12 |z|^2, \qquad z_i = a_i - \sum_j y_{ij}.

Let y_0 and y_1 be such flows at two penalties.  At the penalty a share t of the way between them,
``(1 - t) y_0 + t y_1`` are within the limits, and their bound is
``(1 - t) D_0 + t D_1 + t (1 - t) |z_0 - z_1|^2 / 2``.  The best z are the values of the minimiser,
which are almost linear in the penalty where no clusters meet.  So few *knots* with flows of their
own bound the penalties between them.  A knot more is made only where such a bound is too weak, and
weaker than those of both knots beside it: clusters that should not have been fused have no better.
At penalty 0 the flows are 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.clustering.sparse import contraction
from trials.clustering.sparse.balance import find_flows
from trials.clustering.sparse.path import Tracer

#: Tolerance of the gaps, over that of the path.
_CERTIFY = 10.0
#: Penalties from one knot to the next that is tried: at first and at most.
_FIRST, _MOST = 2, 32
#: Numbers that wait for a knot, at most.
_MEMORY = 1 << 26
#: The longest extrapolation of flows, over the distance of the last two knots.
_FAR = 2.5


class Step(NamedTuple):
    """A penalty of the path: its place, itself, clusters (n,), values (k, d), the objective."""

    place: int
    lam: float
    labels: IntArray
    u: FloatArray
    primal: float


class Knot(NamedTuple):
    """A penalty with flows: the lower bound, and (n, d) arrays z and penalty times potentials.

    ``gap`` is relative to the objective.
    """

    lam: float
    dual: float
    gap: float
    z: FloatArray
    flow: FloatArray


class Gaps:
    """The gaps of the penalties of a path, in its order.

    ``out`` (t,) receives them, in scaled units and perhaps some penalties late: see `settle`.
    """

    def __init__(self, tracer: Tracer, tolerance: float, out: FloatArray) -> None:
        self._tracer = tracer
        self._allowed = _CERTIFY * tolerance
        self._out = out
        zero = Knot(0.0, 0.0, 0.0, tracer.x, np.zeros_like(tracer.x))
        self._knots = (zero, zero)
        self._waiting: list[Step] = []
        self._block = _FIRST

    def add(self, index: int) -> None:
        """Take the state of the tracer at the penalty of this ``index``."""
        tracer = self._tracer
        step = Step(index, tracer.lam, tracer.labels, tracer.u, tracer.primal)
        ended = tracer.is_at_the_end(0.0, flows=False)
        if tracer.gap == 0.0 or (ended and tracer.end.is_at(step.lam)):
            self.settle()
            self._out[index] = 0.0
            if math.isfinite(step.lam):
                z = step.u[step.labels]
                self._knots = (
                    self._knots[1],
                    Knot(step.lam, step.primal, 0.0, z, np.zeros_like(z)),
                )
            return
        self._waiting.append(step)
        room = _MEMORY // tracer.x.size
        if ended or len(self._waiting) >= min(self._block, max(1, room)):
            self.settle()

    def is_small(self, index: int) -> bool:
        """Whether the gap of a penalty is one that was wanted."""
        return bool(self._out[index] <= self._allowed * self._tracer.primal)

    def settle(self) -> None:
        """Write the gaps of all penalties that wait for one."""
        if not self._waiting:
            return
        *between, last = self._waiting
        left = self._knots[1]
        right = self._make_knot(last, *self._knots)
        enough = self._fill(left, right, between)
        self._block = min(2 * self._block, _MOST) if enough else max(1, self._block // 2)
        self._knots = (left, right)
        self._waiting = []

    def _fill(self, left: Knot, right: Knot, steps: list[Step]) -> bool:
        """Write the gaps of ``steps`` between two knots.  Returns whether no knot was needed."""
        apart = left.z - right.z
        square = float(np.vdot(apart, apart))
        gaps = []
        for step in steps:
            t = (step.lam - left.lam) / (right.lam - left.lam)
            bound = (1.0 - t) * left.dual + t * right.dual + 0.5 * t * (1.0 - t) * square
            gaps.append(max(step.primal - bound, 0.0))
        allowed = max(self._allowed, left.gap, right.gap)
        if all(g <= allowed * s.primal for g, s in zip(gaps, steps, strict=True)):
            for gap, step in zip(gaps, steps, strict=True):
                self._out[step.place] = gap
            return True
        middle = len(steps) // 2
        knot = self._make_knot(steps[middle], left, right)
        self._fill(left, knot, steps[:middle])
        self._fill(knot, right, steps[middle + 1 :])
        return False

    def _make_knot(self, step: Step, one: Knot, other: Knot) -> Knot:
        """Seek flows at a penalty, from those on the line through two knots, and write its gap."""
        tracer, lam = self._tracer, step.lam
        q = np.empty_like(tracer.x)
        primal = contraction.pulls(tracer.full, tracer.x, lam, step.labels, step.u, q)
        t = (lam - one.lam) / (other.lam - one.lam) if other.lam > one.lam else 0.0
        t = min(t, _FAR)
        potentials = ((1.0 - t) * one.flow + t * other.flow) / lam
        goal = 2.0 * self._allowed * primal
        clusters = step.labels, step.u.shape[0]
        found = find_flows(tracer.medium(), clusters, q, potentials, lam, goal)
        self._out[step.place] = gap = 0.5 * float(found.left.sum())
        share = gap / primal if primal > 0.0 else 0.0
        return Knot(lam, primal - gap, share, step.u[step.labels] + found.rest, lam * potentials)
