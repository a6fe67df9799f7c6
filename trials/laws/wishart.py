r"""The exact law of the label counts of one round: Wishart losses, never the data.

The ``k`` losses of a client of true cluster :math:`a` on ``n`` fresh samples are the diagonal of a
Wishart matrix :math:`W_k(n,C)`, :math:`C_{jl}=\langle u_j,u_l\rangle+\sigma^2`,
:math:`u_j=\theta_j-\theta_a^*`.  The label is the argmin (first index on a tie).  A round needs
only the counts :math:`N_{aj}` of clients of cluster :math:`a` labelled :math:`j`.

*Two models.*  :math:`N_{ab}` is binomial with the pairwise probability (`trials.laws.pairwise`).

*More models, by thinning.*  Let :math:`q_j=P(\text{loss}_j<\text{loss}_a)` and
:math:`Q=\sum_{j\ne a}q_j`.  Each client is a *candidate* with probability :math:`Q`.  A candidate
picks :math:`j` with probability :math:`q_j/Q`.  It draws its losses from the Wishart law
conditional on :math:`\text{loss}_j<\text{loss}_a`.  It is accepted with probability :math:`1/|B|`,
:math:`B=\{j':\text{loss}_{j'}<\text{loss}_a\}`.  An accepted client takes the argmin, every other
client the label :math:`a`.  The law is exact: with :math:`f` the density of the losses, an accepted
client has losses :math:`w` with density

.. math:: \sum_{j\in B(w)} Q\,\frac{q_j}{Q}\,\frac{f(w)}{q_j}\,\frac1{|B(w)|}
          = f(w)\,\mathbf 1\{B(w)\neq\emptyset\},

and :math:`B=\emptyset` is precisely the event "label :math:`a`".  Clients are independent, so the
cost is the number of candidates, about ``m Q``.  So the cost is small while errors are rare.  When
:math:`Q\ge1/2` every client is drawn, because thinning would save little.

*The conditional draw.*  Rows :math:`(r_a,r_j)=A(z_1,z_2)` with :math:`AA^\top=S` and
:math:`A^\top\mathrm{diag}(1,-1)A=\mathrm{diag}(l_+,-l_-)`, so that
:math:`\text{loss}_a-\text{loss}_j=l_+|z_1|^2-l_-|z_2|^2`.  The condition involves
:math:`|z_1|^2/|z_2|^2` alone (a Student tail, drawn by `pairwise.tail_draw`).  The total
:math:`|z_1|^2+|z_2|^2\sim\chi^2_{2n}` and the angle of the two n-vectors are independent of it.
The remaining rows of the Bartlett factor are unconditional.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.integers import ONE, TWO, ZERO
from trials.kernel import inner_kernel
from trials.laws.pairwise import log_tail, margin, tail_draw

_DRAW_ALL = 0.5
_LOG_2 = math.log(2.0)
_PIVOT = 1e-15  # of a diagonal entry: what is left below it is rounding
_SURE = 800.0  # exp(-746) is the smallest float above zero; the rest pays for rounding


class _Work(NamedTuple):
    """Work space: the rivals' margins, their roots, probabilities (k,), and the matrix C (k, k)."""

    margins: FloatArray
    roots: FloatArray
    tail: FloatArray
    cov: FloatArray


@inner_kernel
def _bartlett_row(i: int, n: int, rng: np.random.Generator, row: FloatArray) -> None:
    """Row ``i`` of the triangular factor (k, k) of a standard Wishart with ``n`` degrees."""
    for c in range(min(i, n)):
        row[c] = rng.standard_normal()
    for c in range(min(i, n), row.size):
        row[c] = 0.0
    if i < n:
        row[i] = math.sqrt(rng.chisquare(float(n - i)))


@inner_kernel
def _cholesky_from(factor: FloatArray, start: int) -> None:
    """Factorise the trailing block of a matrix (k, k) in place: its lower Cholesky factor.

    A pivot within rounding of zero counts as zero: its root would be far above rounding.
    """
    k = factor.shape[0]
    for i in range(start, k):
        for j in range(start, i + 1):
            value = whole = factor[i, j]
            for c in range(start, j):
                value -= factor[i, c] * factor[j, c]
            if i == j:
                factor[i, i] = math.sqrt(value) if value > _PIVOT * whole else 0.0
            else:
                factor[i, j] = value / factor[j, j] if factor[j, j] > 0.0 else 0.0
    for i in range(start, k):
        for j in range(i + 1, k):
            factor[i, j] = 0.0


@inner_kernel
def _loss(factor: FloatArray, bartlett: FloatArray, i: int) -> float:
    """Entry i of the diagonal of ``factor @ bartlett @ bartlett.T @ factor.T``, of at least two.

    Both are lower triangular but for one entry, ``factor[0, 1]``.
    """
    total = 0.0
    end = max(i, 1) + 1
    for c in range(end):
        entry = 0.0
        for r in range(c, end):
            entry += factor[i, r] * bartlett[r, c]
        total += entry * entry
    return total


@inner_kernel
def _losses(factor: FloatArray, bartlett: FloatArray, out: FloatArray) -> None:
    """Write every `_loss` (k,)."""
    for i in range(out.size):
        out[i] = _loss(factor, bartlett, i)


@inner_kernel
def _conditional_factor(
    cov: FloatArray, order: IntArray, x: float, root: float, factor: FloatArray
) -> None:
    """A factor of ``cov[order, order]`` whose first two columns diagonalise the first two losses.

    ``order[0]`` is the own model and ``order[1]`` the rival, ``x`` their margin and ``root`` the
    square root of ``A B - c^2``.  ``l_plus / root`` and ``l_minus / root`` are
    ``sqrt(1 + x^2) -+ x``.
    """
    k = order.size
    big = math.sqrt(1.0 + x * x) + abs(x)
    plus, minus = (root / big, root * big) if x > 0 else (root * big, root / big)
    own, rival = order[0], order[1]
    a, b, c = cov[own, own], cov[rival, rival], cov[own, rival]
    both = plus + minus
    a00 = math.sqrt(plus * (b + plus) / both)
    a11 = math.sqrt(minus * (a + minus) / both)
    a01 = c * math.sqrt(minus / ((a + minus) * both))
    a10 = c * math.sqrt(plus / ((b + plus) * both))
    factor[0, 0], factor[0, 1], factor[1, 0], factor[1, 1] = a00, a01, a10, a11
    for i in range(2, k):
        factor[0, i] = factor[1, i] = 0.0
        with_own, with_rival = cov[order[i], own], cov[order[i], rival]
        factor[i, 0] = (with_own * a00 - with_rival * a10) / plus
        factor[i, 1] = (with_rival * a11 - with_own * a01) / minus
    for i in range(2, k):
        for j in range(2, i + 1):
            factor[i, j] = (
                cov[order[i], order[j]] - factor[i, 0] * factor[j, 0] - factor[i, 1] * factor[j, 1]
            )
    _cholesky_from(factor, TWO)


@inner_kernel
def _conditional_pair(x: float, n: int, rng: np.random.Generator, bartlett: FloatArray) -> None:
    """Two rows of the standard factor (k, k), the own loss above the rival's (margin ``x``)."""
    t = tail_draw(x, float(n), rng)
    grown = math.sqrt(1.0 + t * t) + abs(t)
    ratio = grown if t > 0 else 1.0 / grown  # |z1| / |z2|
    total = math.sqrt(rng.chisquare(2.0 * n))
    first = total / math.sqrt(1.0 + 1.0 / (ratio * ratio))
    second = total / math.sqrt(1.0 + ratio * ratio)
    g = rng.standard_normal()
    h_sq = rng.chisquare(n - 1.0) if n > 1 else 0.0
    length = math.sqrt(g * g + h_sq)
    for c in range(1, bartlett.shape[0]):
        bartlett[0, c] = 0.0
        bartlett[1, c] = 0.0
    bartlett[0, 0] = first
    bartlett[1, 0] = second * g / length
    bartlett[1, 1] = second * math.sqrt(h_sq) / length


@inner_kernel
def _conditional_bartlett(x: float, n: int, rng: np.random.Generator, bartlett: FloatArray) -> None:
    """The standard factor (k, k) given that the own loss exceeds the rival's (margin ``x``)."""
    _conditional_pair(x, n, rng, bartlett)
    for i in range(2, bartlett.shape[0]):
        _bartlett_row(i, n, rng, bartlett[i])


@inner_kernel
def _draw_every_client(
    cov: FloatArray, alive: IntArray, size: int, n: int, rng: np.random.Generator, counts: IntArray
) -> None:
    """Label each of ``size`` clients by its own Wishart losses, of covariance ``cov`` (k, k)."""
    k = alive.size
    factor = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1):
            factor[i, j] = cov[alive[i], alive[j]]
    _cholesky_from(factor, ZERO)
    bartlett = np.zeros((k, k))
    losses = np.empty(k)
    for _ in range(size):
        for i in range(k):
            _bartlett_row(i, n, rng, bartlett[i])
        _losses(factor, bartlett, losses)
        best = 0
        for i in range(1, k):
            if losses[i] < losses[best]:
                best = i
        counts[alive[best]] += 1


@inner_kernel
def _pair_first(alive: IntArray, own: int, rival: int) -> IntArray:
    """The models ``alive``, the own one and a rival before the others."""
    order = np.empty(alive.size, np.int64)
    order[0], order[1] = own, rival
    filled = 2
    for j in alive:
        if j != own and j != rival:
            order[filled] = j
            filled += 1
    return order


@inner_kernel
def _draw_candidates(
    cov: FloatArray,
    alive: IntArray,
    own: int,
    rival: int,
    x: float,
    root: float,
    n_candidates: int,
    n: int,
    rng: np.random.Generator,
    counts: IntArray,
) -> None:
    """Draw the candidates that picked ``rival``, and move the accepted ones from ``own``."""
    k = alive.size
    order = _pair_first(alive, own, rival)
    factor = np.empty((k, k))
    _conditional_factor(cov, order, x, root, factor)
    bartlett = np.empty((k, k))
    losses = np.empty(k)
    for _ in range(n_candidates):
        _conditional_bartlett(x, n, rng, bartlett)
        _losses(factor, bartlett, losses)
        better, best = 1, 1  # loss[1] < loss[0] by construction, also where rounding reverses it
        for i in range(2, k):
            if losses[i] < losses[0]:
                better += 1
                if losses[i] < losses[best]:
                    best = i
        if rng.random() * better < 1.0:
            counts[order[best]] += 1
            counts[own] -= 1


@inner_kernel
def _equal(x: FloatArray, y: FloatArray) -> bool:
    i = 0
    while i < x.size and x[i] == y[i]:  # an array expression costs a second of compilation
        i += 1
    return bool(i == x.size)


@inner_kernel
def _distinct_models(theta: FloatArray, representative: IntArray) -> IntArray:
    """The first of each group of identical models, ascending.

    ``representative`` (k,) receives the index of the first model that is equal to each.
    """
    k = theta.shape[0]
    distinct = np.empty(k, np.int64)
    count = 0
    for j in range(k):
        representative[j] = j
        for i in range(j):
            # The first coordinates tell most apart without a slice, which costs more.
            if theta[i, 0] == theta[j, 0] and _equal(theta[i], theta[j]):
                representative[j] = i
                break
        if representative[j] == j:
            distinct[count] = j
            count += 1
    return distinct[:count]


@inner_kernel
def _loss_covariance(
    theta: FloatArray, centre: FloatArray, sigma: float, alive: IntArray, cov: FloatArray
) -> None:
    """The matrix C (k, k) of the module's text, for models ``alive`` and a centre's client."""
    for i in alive:
        for j in alive:
            product = sigma * sigma
            for c in range(theta.shape[1]):
                product += (theta[i, c] - centre[c]) * (theta[j, c] - centre[c])
            cov[i, j] = product


@inner_kernel
def _squared_distances(
    columns: FloatArray, theta_star: FloatArray, a: int, out: FloatArray
) -> None:
    """Squared distances of the models, the columns of a (d, k) array, from the centre ``a``."""
    for j in range(out.size):
        out[j] = 0.0
    for c in range(columns.shape[0]):
        at = theta_star[a, c]
        for j in range(out.size):  # over models: the compiler may take several at once
            gap = columns[c, j] - at
            out[j] += gap * gap


@inner_kernel
def _log_tail_limit(own_sq: float, rival_sq: float, rounding: float, sigma: float, n: int) -> float:
    r"""A limit on the log probability of preferring a rival, from its distance alone.

    The margin is :math:`x=(B-A)/(2|\theta_j-\theta_a|\sqrt{\sigma^2+h^2})` with ``own_sq`` A,
    ``rival_sq`` B, :math:`h^2\le A` and :math:`|\theta_j-\theta_a|\le\sqrt A+\sqrt B`.  So
    :math:`x\ge(\sqrt B-\sqrt A)/(2\sqrt{\sigma^2+A})`.  At :math:`x\ge0` the probability is at most
    :math:`\tfrac12(1+x^2)^{-n/2}`, because :math:`I_y(n/2,1/2)\,y^{-n/2}` grows to 1 with y.  The
    margin of the vectors is rounded: at most ``rounding`` times :math:`\sqrt A+\sqrt B` is lost in
    the numerator.  Below :math:`e^{-800}` the limit is zero.
    """
    own, rival = math.sqrt(own_sq), math.sqrt(rival_sq)
    gap = 0.5 * (rival - own) - rounding * (rival + own)
    if not gap > 0.0:
        return 0.0
    scale = sigma * sigma + own_sq
    if scale == 0.0:
        return -math.inf
    ratio = gap * gap / scale
    if n * ratio > 2.0 * (_SURE + 1.0) * (1.0 + ratio):  # log(1 + x) is at least x/(1 + x)
        return -math.inf
    limit = -0.5 * n * math.log1p(ratio) - _LOG_2
    return limit if limit > -_SURE else -math.inf


@inner_kernel
def _nearest_rival(alive: IntArray, own: int, squares: FloatArray) -> float:
    """The smallest of the rivals' squared distances (k,), infinite without rivals."""
    nearest = math.inf
    for j in alive:
        if j != own and squares[j] < nearest:
            nearest = squares[j]
    return nearest


@inner_kernel
def _limit_tails(
    alive: IntArray,
    own: int,
    squares: FloatArray,
    rounding: float,
    sigma: float,
    n: int,
    tail: FloatArray,
) -> float:
    """A limit on the probability that one client prefers some rival to its own model.

    ``squares`` (k,) are the squared distances of the models from the client's centre.  ``tail``
    (k,) receives the limit of each rival among ``alive``.
    """
    total = 0.0
    for j in alive:
        if j != own:
            limit = _log_tail_limit(squares[own], squares[j], rounding, sigma, n)
            tail[j] = math.exp(limit) if limit > -math.inf else 0.0
            total += tail[j]
    return total


@inner_kernel
def _tails(
    theta: FloatArray,
    centre: FloatArray,
    alive: IntArray,
    own: int,
    sigma: float,
    n: int,
    margins: FloatArray,
    roots: FloatArray,
    tail: FloatArray,
) -> float:
    """The probabilities that one client prefers each rival to its own model, and their sum.

    ``tail`` (k,) holds limits on the probabilities of the rivals among ``alive``, and receives the
    probabilities.  ``margins`` and ``roots`` (k,) receive their margins where the limit is not
    zero.
    """
    total = 0.0
    for j in alive:
        if j == own or tail[j] == 0.0:
            continue
        margins[j], roots[j] = margin(theta[own], theta[j], centre, sigma)
        if math.isnan(margins[j]):  # a certain tie: the smaller index is taken
            margins[j] = -math.inf if j < own else math.inf
        tail[j] = math.exp(log_tail(margins[j], float(n))) if margins[j] > -math.inf else 1.0
        total += tail[j]
    return total


@inner_kernel
def _possible(alive: IntArray, own: int, tail: FloatArray) -> IntArray:
    """The own model and the rivals whose probability is not zero, ascending."""
    found = np.empty(alive.size, np.int64)
    count = 0
    for j in alive:
        if j == own or tail[j] > 0.0:
            found[count] = j
            count += 1
    return found[:count]


@inner_kernel
def _holds(models: IntArray, model: int) -> bool:
    i = 0
    while i < models.size and models[i] != model:
        i += 1
    return bool(i < models.size)


@inner_kernel
def _first_of_ties(models: IntArray, cov: FloatArray, sigma: float, kept: int) -> IntArray:
    """The models without those whose loss is certain to be that of a smaller index.

    Without noise the losses of models at opposite places of the centre are equal.  Rounding would
    choose between them.  The model ``kept`` stays in any case, -1 for none.
    """
    if sigma > 0.0:
        return models
    found = np.empty(models.size, np.int64)
    count = 0
    for j in models:
        first = True
        for i in models:
            if j != kept and i < j and cov[i, j] == -cov[j, j] and cov[i, i] == cov[j, j]:
                first = False
        if first:
            found[count] = j
            count += 1
    return found[:count]


@inner_kernel
def _draw_movers(
    theta: FloatArray,
    centre: FloatArray,
    alive: IntArray,
    own: int,
    left: int,
    limit: float,
    sigma: float,
    n: int,
    max_candidates: float,
    rng: np.random.Generator,
    work: _Work,
    counts: IntArray,
) -> bool:
    """Move the clients of one cluster that prefer a rival, among ``left`` that may.

    ``work.tail`` holds limits on the rivals' probabilities, and ``limit`` their sum, at most 1.
    ``counts`` (k,) has all clients of the cluster at ``own``, and receives the labels.  Returns
    False where ``max_candidates`` is exceeded.
    """
    # Each way out leaves draws undone: the order of the draws, which the stream fixes, is read from
    # top to bottom.
    margins, roots, tail, cov = work
    total = _tails(theta, centre, alive, own, sigma, n, margins, roots, tail)
    total = min(total, limit)  # above it by rounding alone, or where every client is drawn
    if alive.size == 2:
        other = alive[0] + alive[1] - own
        moved = rng.binomial(left, min(tail[other] / limit, 1.0))
        counts[own] -= moved
        counts[other] = moved
        return True
    if alive.size == 1 or total == 0.0:
        return True
    if counts[own] * (total if total < _DRAW_ALL else 1.0) > max_candidates:
        return False
    if total < _DRAW_ALL:
        left = rng.binomial(left, total / limit)
        if left == 0:
            return True
    possible = _possible(alive, own, tail)
    _loss_covariance(theta, centre, sigma, possible, cov)
    if total >= _DRAW_ALL:
        choices = _first_of_ties(possible, cov, sigma, -1)
        counts[own] = 0
        if choices.size == 1:
            counts[choices[0]] = left
        else:
            _draw_every_client(cov, choices, left, n, rng, counts)
        return True
    choices = _first_of_ties(possible, cov, sigma, own)
    for j in possible:
        if j == own or left == 0:
            continue
        picked = rng.binomial(left, min(tail[j] / total, 1.0))
        total -= tail[j]
        left -= picked
        if picked > 0 and _holds(choices, j):  # of a tie the smaller index is taken
            _draw_candidates(cov, choices, own, j, margins[j], roots[j], picked, n, rng, counts)
    return True


@inner_kernel
def thinned_label_counts(
    theta: FloatArray,
    theta_star: FloatArray,
    sizes: IntArray,
    sigma: float,
    n: int,
    max_candidates: float,
    rng: np.random.Generator,
    chances: FloatArray,
    passed: IntArray,
    counts: IntArray,
) -> bool:
    """`label_counts` where ``passed`` (k,) clients of each cluster may be wrong.

    They are a random part of the clients, each in it with the probability ``chances`` (k,), which
    is a limit on that of a wrong label, or 1.
    """
    k, d = theta.shape
    representative = np.empty(k, np.int64)
    alive = _distinct_models(theta, representative)
    work = _Work(np.empty(k), np.empty(k), np.empty(k), np.empty((k, k)))
    columns = np.empty((d, k))
    for j in range(k):
        for c in range(d):
            columns[c, j] = theta[j, c]
    squares = np.empty(k)
    rounding = 1e-15 * (d + 10.0)
    for a in range(k):
        for j in range(k):
            counts[a, j] = 0
        own = representative[a]
        counts[a, own], left = sizes[a], passed[a]
        if left == 0:
            continue
        _squared_distances(columns, theta_star, a, squares)
        # Of a rival the limit falls with its distance, so that one exponential is enough for most.
        nearest = _log_tail_limit(
            squares[own], _nearest_rival(alive, own, squares), rounding, sigma, n
        )
        rough = min((alive.size - 1) * math.exp(nearest), chances[a])
        if rough < _DRAW_ALL:
            left = rng.binomial(left, rough / chances[a])
            if left == 0:
                continue
        else:
            rough = chances[a]
        limit = min(_limit_tails(alive, own, squares, rounding, sigma, n, work.tail), rough)
        if limit < _DRAW_ALL:
            left = rng.binomial(left, limit / rough)
            if left == 0:
                continue
        else:
            limit = rough
        if not _draw_movers(
            theta, theta_star[a], alive, own, left, limit, sigma, n, max_candidates, rng, work,
            counts[a],
        ):  # fmt: skip
            return False
    return True


@inner_kernel
def label_counts(
    theta: FloatArray,
    theta_star: FloatArray,
    sizes: IntArray,
    sigma: float,
    n: int,
    max_candidates: float,
    rng: np.random.Generator,
    counts: IntArray,
) -> bool:
    """Draw the counts ``N[a, j]`` of one round of label estimation.

    Parameters
    ----------
    theta, theta_star : (k, d) models and true parameters, finite.
    sizes : (k,) clients per true cluster.
    sigma, n : noise level and fresh samples per client.
    max_candidates : refuse a cluster whose expected number of explicitly drawn clients exceeds it.
    counts : (k, k) output.

    Returns
    -------
    False where ``max_candidates`` is exceeded (``counts`` is then meaningless), else True.

    Raises
    ------
    Nothing, because it is a kernel.  Its callers check the arguments.

    Notes
    -----
    Cost O(k^2 d) for the distances, plus O(k^3) for each candidate when k > 2.  The candidates are
    thinned three times: by the limit of the nearest rival times the number of rivals, by the limits
    that all distances give (`_log_tail_limit`), and by the exact probabilities.  Each is computed
    only for clusters with a client that passes the one before.  Identical models are represented by
    the first of them, the argmin's choice.

    Examples
    --------
    >>> import numpy as np
    >>> theta_star = np.array([[1.0, 0.0], [-1.0, 0.0]])
    >>> counts = np.empty((2, 2), dtype=np.int64)
    >>> label_counts(
    ...     theta_star + 0.1, theta_star, np.array([40, 60]), 0.5, 20, 1e6,
    ...     np.random.default_rng(0), counts,
    ... )
    True
    >>> counts.sum(axis=1).tolist()
    [40, 60]
    """
    k = sizes.size
    return thinned_label_counts(
        theta, theta_star, sizes, sigma, n, max_candidates, rng, np.ones(k), sizes.copy(), counts
    )


# -- the clients that one model receives ----------------------------------------------------------


@inner_kernel
def _takes_rival(
    factor: FloatArray, x: float, n: int, rng: np.random.Generator, bartlett: FloatArray
) -> bool:
    """Whether a client that prefers the rival, model 1, to its own, model 0, takes it.

    The losses are drawn one by one, until one is smaller than the rival's.
    """
    _conditional_pair(x, n, rng, bartlett)
    smallest = _loss(factor, bartlett, ONE)
    for i in range(2, factor.shape[0]):
        _bartlett_row(i, n, rng, bartlett[i])
        if _loss(factor, bartlett, i) < smallest:
            return False
    return True


@inner_kernel
def count_joining(
    theta: FloatArray,
    theta_star: FloatArray,
    sizes: IntArray,
    sigma: float,
    n: int,
    max_candidates: float,
    rng: np.random.Generator,
    counts: IntArray,
) -> bool:
    """Draw the clients of the other clusters that take model 0: ``counts[a, 0]``, a > 0.

    The arguments and the result are those of `label_counts`.  The other counts have no meaning.  A
    client's losses are drawn only where it prefers model 0 to its own.  Certain ties, and clients
    that are certain to prefer model 0, are left to `label_counts`.
    """
    k = sizes.size
    margins, roots = np.empty(k), np.empty(k)
    alive = _distinct_models(theta, np.empty(k, np.int64))
    plain = alive.size == k
    for a in range(1, k):
        margins[a], roots[a] = margin(theta[a], theta[0], theta_star[a], sigma)
        plain = plain and margins[a] > -math.inf  # false for no number
    if not plain:
        return label_counts(theta, theta_star, sizes, sigma, n, max_candidates, rng, counts)
    cov = np.empty((k, k))
    for a in range(1, k):
        x = margins[a]
        # The limit of `_log_tail_limit`, at the exact margin.
        limit = 0.5 * math.exp(-0.5 * n * math.log1p(x * x)) if x > 0.0 else 1.0
        left = rng.binomial(sizes[a], limit)
        counts[a, 0] = 0
        if left == 0:
            continue
        chance = math.exp(log_tail(x, float(n)))
        if k > 2 and sizes[a] * chance > max_candidates:  # of two models none is drawn
            return False
        left = rng.binomial(left, min(chance / limit, 1.0))
        if k == 2:
            counts[a, 0] = left
            continue
        _loss_covariance(theta, theta_star[a], sigma, alive, cov)
        choices = _first_of_ties(alive, cov, sigma, a)
        factor = np.empty((choices.size, choices.size))
        bartlett = np.empty((choices.size, choices.size))
        _conditional_factor(cov, _pair_first(choices, a, ZERO), x, roots[a], factor)
        for _ in range(left):
            if _takes_rival(factor, x, n, rng, bartlett):
                counts[a, 0] += 1
    return True
