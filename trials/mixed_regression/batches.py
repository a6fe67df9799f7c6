"""The data of the rounds of moment descent: anchors, fresh clients, and their checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trials.checks import FloatArray, IntArray, InvalidParameter, finite_batch, record_of
from trials.models.clients import ClientData
from trials.parameters import Array, Integer, Record, Stream, validated

LARGEST_ENTRY = 1e15
"""Larger features or responses are refused: fourth powers of bounded estimates stay finite."""


@dataclass(frozen=True, kw_only=True)
class MomentBatch:
    """The data of one round.

    Attributes
    ----------
    first, second : (m, d) features of the two points of each of m clients.
    first_y, second_y : (m,) their responses.
    anchor_features : (H, 2 l, d) fresh points of every anchor.  Point j is paired with l + j.
    anchor_responses : (H, 2 l).
    """

    first: FloatArray
    second: FloatArray
    first_y: FloatArray
    second_y: FloatArray
    anchor_features: FloatArray
    anchor_responses: FloatArray


@validated(data=Record(ClientData), n_anchors=Integer(1), n_rows=Integer(1), rng=Stream())
def choose_anchors(
    data: ClientData, n_anchors: int, n_rows: int, rng: np.random.Generator
) -> IntArray:
    """Random clients (n_anchors,), ascending, of those with at least ``n_rows`` rows.

    A run of T rounds with l pairs needs ``n_rows = 2 l T``.
    """
    able = np.flatnonzero(np.diff(data.offsets) >= n_rows)
    if able.size < n_anchors:
        raise InvalidParameter(
            f"n_anchors={n_anchors} must be <= {able.size}, the clients with {n_rows} rows or more"
        )
    return np.sort(rng.choice(able, n_anchors, replace=False)).astype(np.int64)


@validated(
    data=Record(ClientData),
    anchors=Array(("H",), whole=True, low=0),
    n_clients=Integer(1),
    n_pairs=Integer(1),
    n_rounds=Integer(1),
    rng=Stream(),
)
def fresh_batches(
    data: ClientData,
    anchors: ArrayLike,
    *,
    n_clients: int,
    n_pairs: int,
    n_rounds: int,
    rng: np.random.Generator,
) -> Callable[[int], MomentBatch]:
    """Batches of one data set in which no client, and no row of an anchor, is used twice.

    Parameters
    ----------
    data : the clients.  Those with one row are never drawn.
    anchors : (H,) distinct clients, each with at least 2 ``n_pairs n_rounds`` rows.
    n_clients : m clients a round, drawn without replacement from the others with two rows or more,
        of which the first two are read.  There must be m T of them.
    n_pairs : l pairs an anchor and round.
    n_rounds : T.
    rng : the stream, used only during this call.

    Returns
    -------
    ``draw(t)`` for t = 0, ..., T - 1.

    Raises
    ------
    InvalidParameter : anchors that repeat or have too few rows, or fewer than m T other clients.

    Examples
    --------
    >>> import numpy as np
    >>> from trials.models.clients import ClientData
    >>> rng = np.random.default_rng(0)
    >>> data = ClientData.equal(rng.standard_normal((50, 40, 3)), rng.standard_normal((50, 40)))
    >>> anchors = choose_anchors(data, 4, 2 * 5 * 3, rng)
    >>> draw = fresh_batches(data, anchors, n_clients=10, n_pairs=5, n_rounds=3, rng=rng)
    >>> draw(0).first.shape, draw(0).anchor_features.shape
    ((10, 3), (4, 10, 3))
    """
    chosen = np.asarray(anchors)
    sizes = np.diff(data.offsets)
    if chosen.max() >= sizes.size or np.unique(chosen).size < chosen.size:
        raise InvalidParameter(f"anchors must be distinct and in [0, {sizes.size})")
    needed = 2 * n_pairs * n_rounds
    if sizes[chosen].min() < needed:
        raise InvalidParameter(
            f"anchors must have 2 n_pairs n_rounds = {needed} rows; one has {sizes[chosen].min()}"
        )
    others = np.setdiff1d(np.flatnonzero(sizes >= 2), chosen)
    if others.size < n_clients * n_rounds:
        raise InvalidParameter(
            f"n_clients={n_clients} must be <= {others.size // n_rounds}: {others.size} clients "
            f"besides the anchors have two rows, for {n_rounds} rounds"
        )
    order = rng.permutation(others)[: n_clients * n_rounds].reshape(n_rounds, n_clients)
    tops = data.offsets[chosen]

    def draw(t: int) -> MomentBatch:
        rows = data.offsets[order[t]]
        own = tops[:, None] + np.arange(2 * n_pairs * t, 2 * n_pairs * (t + 1))
        return MomentBatch(
            first=data.features[rows],
            second=data.features[rows + 1],
            first_y=data.responses[rows],
            second_y=data.responses[rows + 1],
            anchor_features=data.features[own],
            anchor_responses=data.responses[own],
        )

    return draw


def check_batch(batch: MomentBatch, n_anchors: int, d: int) -> MomentBatch:
    """Refuse a batch whose arrays do not fit together, or that holds NaN."""
    record_of("draw's result", batch, MomentBatch)
    first = finite_batch("first", batch.first, ("m", "d"))
    second = finite_batch("second", batch.second, ("m", "d"))
    points = finite_batch("anchor_features", batch.anchor_features, ("H", "2l", "d"))
    answers = finite_batch("anchor_responses", batch.anchor_responses, ("H", "2l"))
    ys = [finite_batch(name, getattr(batch, name), ("m",)) for name in ("first_y", "second_y")]
    if first.shape[1] != d or second.shape != first.shape or {len(y) for y in ys} != {len(first)}:
        raise InvalidParameter(
            f"first {first.shape}, second {second.shape}, first_y {ys[0].shape} and second_y "
            f"{ys[1].shape} must be (m, {d}) and (m,)"
        )
    if points.shape != (n_anchors, answers.shape[1], d) or len(answers) != n_anchors:
        raise InvalidParameter(
            f"anchor_features {points.shape} and anchor_responses {answers.shape} must be "
            f"({n_anchors}, 2l, {d}) and ({n_anchors}, 2l)"
        )
    if answers.shape[1] % 2:
        raise InvalidParameter(f"2l={answers.shape[1]} points of an anchor must be even")
    largest = max(max(x.max(), -x.min()) for x in (first, second, points, answers, *ys))
    if largest > LARGEST_ENTRY:
        raise InvalidParameter(
            f"the batch's largest entry {largest:g} must be <= {LARGEST_ENTRY:g}: change the units"
        )
    return MomentBatch(
        first=first, second=second, first_y=ys[0], second_y=ys[1],
        anchor_features=points, anchor_responses=answers,
    )  # fmt: skip
