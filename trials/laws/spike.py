r"""Rare spikes of a loss: the law that mislabels most clients at a given variance of the loss.

The losses of :math:`k` models on one sample are their means plus noise.  With probability
:math:`\pi` for each of the :math:`k-1` rivals, the sample raises the loss of the own model by
:math:`s` and lowers that of the rival by :math:`r`.  The noise is centred.  Its variance is
:math:`\eta^2` at every model:

.. math:: s^2\Pi(1-\Pi)=r^2\pi(1-\pi)=\eta^2,\quad\Pi=(k-1)\pi.

A client averages :math:`n` samples.  :math:`\pi` is the largest probability for which one spike
closes a gap G between the mean losses:

.. math:: s\Bigl(\frac1n-\Pi\Bigr)+r\Bigl(\frac1n-\pi\Bigr)=G.

So a client is mislabelled exactly where it has a spike, with probability :math:`1-(1-\Pi)^n`.  For
:math:`n=1,\,k=2` this is :math:`1/(1+G^2/4\eta^2)`, which Cantelli's inequality allows at most.  On
:math:`R^d` the noise is a sum of bumps around the models with disjoint supports and heights of at
most one, so the variance is at most :math:`\eta^2` at every point.
"""

from __future__ import annotations

import math

from scipy import optimize

from trials.checks import LARGEST_ENTRY, WHOLE_IN_FLOAT
from trials.parameters import Domain, Integer, Real, validated

_SMALLEST = 1e-280  # a probability below it is no longer told apart from zero


_ARGUMENTS: dict[str, Domain] = {
    "gap": Real(0.0, LARGEST_ENTRY),
    "eta": Real(0.0, LARGEST_ENTRY),
    "n": Integer(1, WHOLE_IN_FLOAT, why="whole in float64"),
    "k": Integer(2, 1_000_000),
}


@validated(**_ARGUMENTS)
def spike_probability(gap: float, eta: float, n: int, k: int = 2) -> float:
    """The probability of a spike for one sample and one rival.

    Parameters
    ----------
    gap : between the mean losses of a rival and the own model, in the losses' unit.
    eta : standard deviation of the loss of one sample at every model, in the same unit.
    n : samples of a client.
    k : models.

    Examples
    --------
    >>> spike_probability(4.0, 1.0, 1)
    0.2
    """
    if eta == 0.0:
        return 0.0
    rivals = k - 1
    needed = gap / eta

    def room(log_pi: float) -> float:
        pi = math.exp(log_pi)
        both = min(rivals * pi, 1.0)
        own = (1.0 / n - both) / math.sqrt(both * (1.0 - both)) if both < 1.0 else _at_one(n)
        rival = (1.0 / n - pi) / math.sqrt(pi * (1.0 - pi)) if pi < 1.0 else _at_one(n)
        return own + rival - needed

    low, high = math.log(_SMALLEST), -math.log(rivals)
    if room(low) <= 0.0:
        return 0.0
    if room(high) >= 0.0:
        return 1.0 / rivals
    return math.exp(optimize.brentq(room, low, high, xtol=1e-14, rtol=1e-15))


def _at_one(n: int) -> float:
    """The limit of (1/n - q)/sqrt(q(1 - q)) as q tends to one, a large number for infinity."""
    return 0.0 if n == 1 else -1e300


@validated(**_ARGUMENTS)
def wrong_label(gap: float, eta: float, n: int, k: int = 2) -> float:
    """The probability that a client is mislabelled.

    Each rival gets the same share of it.

    Examples
    --------
    >>> round(wrong_label(4.0, 1.0, 1), 12)
    0.2
    >>> wrong_label(1.0, 0.0, 10)
    0.0
    """
    every = (k - 1) * spike_probability(gap, eta, n, k)
    return 1.0 if every >= 1.0 else -math.expm1(n * math.log1p(-every))
