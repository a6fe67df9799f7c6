r"""Algorithm 2 of IFCA for a model that is given as functions, such as a neural network.

`trials.ifca.options` runs linear and logistic models in compiled loops.  Here a model is three
functions (`Model`), and its parameters are a *tree*: an array, or a dict, list or tuple of trees.
The data of a client are whatever the functions take.  The two options of Algorithm 2, random
subsets of clients and known identities are those of `trials.ifca.options`, and so are its readings:
option I divides by m, ties go to the first model, and a model that nobody chose stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from trials.checks import (
    MAX_LOCAL_STEPS,
    IntArray,
    InvalidParameter,
    bounded_entries,
    integer_between,
    one_of,
    real_array,
    whole_array,
)
from trials.ifca.linear import LARGEST_BOUND
from trials.models.run_status import DIVERGENCE_BOUND, RunStatus
from trials.parameters import Function, Integer, Maybe, Real, Stream, validated

Tree = Any
"""An array, or a dict, list or tuple of trees."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model as functions of its parameters and of one client's data.

    Attributes
    ----------
    init : ``rng -> parameters``, the random start of one model.
    loss : ``(parameters, data) -> `` the client's mean loss, a number.
    gradient : ``(parameters, data) -> `` its gradient, a tree of the parameters' shape.
    """

    init: Callable[[np.random.Generator], Tree]
    loss: Callable[[Tree, Any], float]
    gradient: Callable[[Tree, Any], Tree]


@dataclass(frozen=True, kw_only=True)
class FunctionsResult:
    """The result of one run.

    Attributes
    ----------
    models : k parameter trees.
    labels : (m,) each client's last identity estimate, -1 where it was never asked.
    label_changes : (T,) participants whose estimate differs from their last one.
    losses : (T,) mean loss of the participants under the models that they chose, before the step.
        It is infinite from the iteration on that diverged.
    status : DIVERGED where a loss was not finite, or where a step would have given a model of norm
        above the bound.  The models are then those before that step.
    """

    models: list[Tree]
    labels: IntArray
    label_changes: IntArray
    losses: np.ndarray
    status: RunStatus = RunStatus.COMPLETED


def tree_map(function: Callable[..., Any], *trees: Tree) -> Tree:
    """Apply a function to the arrays of trees of one shape, leaf by leaf.

    Raises
    ------
    InvalidParameter : trees of different shapes.

    Examples
    --------
    >>> tree_map(lambda x, y: x + y, {"a": 1.0, "b": [2.0]}, {"a": 3.0, "b": [4.0]})
    {'a': 4.0, 'b': [6.0]}
    """
    first = trees[0]
    if any(_container(tree) is not _container(first) for tree in trees[1:]):
        raise InvalidParameter("trees must have the same containers at the same places")
    if isinstance(first, dict):
        if any(tree.keys() != first.keys() for tree in trees[1:]):
            raise InvalidParameter(f"trees must have the same keys, those of {sorted(first)}")
        return {key: tree_map(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, list | tuple):
        if any(len(tree) != len(first) for tree in trees[1:]):
            raise InvalidParameter(f"trees must have the same lengths, here {len(first)}")
        parts = [tree_map(function, *leaves) for leaves in zip(*trees, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if any(np.shape(tree) != np.shape(first) for tree in trees[1:]):
        shapes = ", ".join(str(np.shape(tree)) for tree in trees)
        raise InvalidParameter(f"leaves of shapes {shapes} must have one shape")
    return function(*trees)


def _container(tree: Tree) -> type | None:
    """The type of a container, one for all kinds of dict, and None for an array."""
    if isinstance(tree, dict):
        return dict
    return type(tree) if isinstance(tree, list | tuple) else None


def _leaves(tree: Tree) -> Iterator[Any]:
    if isinstance(tree, dict | list | tuple):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _leaves(part)
    else:
        yield tree


def _is_bounded(tree: Tree, bound: float) -> bool:
    """Whether the parameters are finite and of norm at most ``bound``."""
    with np.errstate(over="ignore", invalid="ignore"):
        # In double precision: both squares are infinite in single precision from 1.8e19 on.
        squares = (np.sum(np.square(x, dtype=np.float64)) for x in _leaves(tree))
        return bool(sum(squares) <= bound**2)


def _check_starts(starts: Sequence[Tree]) -> list[Tree]:
    """The starts, as trees of one shape whose leaves are bounded real numbers."""
    tree_map(lambda *_: None, *starts)
    for tree in starts:
        for leaf in _leaves(tree):
            bounded_entries("a leaf of starts", real_array("a leaf of starts", leaf))
    return list(starts)


def _call(what: str, function: Callable[[Tree, Any], Any], theta: Tree, data: Any) -> Any:
    """The value of a function of the model.  Its error says which function failed."""
    try:
        return function(theta, data)
    except (TypeError, ValueError, IndexError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidParameter(
            f"model.{what} fails on a client's data: {type(error).__name__}: {reason}"
        ) from error


def _descend(model: Model, start: Tree, data: Any, step_size: float, n_steps: int) -> Tree:
    """The parameters after gradient steps on one client's data."""
    for _ in range(n_steps):
        start = tree_map(lambda x, g: x - step_size * g, start,
                         _call("gradient", model.gradient, start, data))  # fmt: skip
    return start


@validated(
    k=Integer(1),
    step_size=Real(0.0, open_low=True),
    n_iterations=Integer(0),
    local_steps=Integer(1, MAX_LOCAL_STEPS),
    n_participants=Maybe(Integer(1)),
    divergence_bound=Real(0.0, LARGEST_BOUND),
    rng=Stream(),
    watch=Maybe(Function()),
)
def run_ifca_functions(
    *,
    model: Model,
    clients: Sequence[Any],
    k: int,
    step_size: float,
    n_iterations: int,
    rng: np.random.Generator,
    starts: Sequence[Tree] | None = None,
    averaging: Literal["gradient", "model"] = "model",
    local_steps: int = 1,
    n_participants: int | None = None,
    known_labels: IntArray | None = None,
    divergence_bound: float = DIVERGENCE_BOUND,
    watch: Callable[[int, list[Tree], IntArray], None] | None = None,
) -> FunctionsResult:
    """Iterate IFCA on a model given as functions, or a baseline that knows the identities.

    Parameters
    ----------
    model : `Model`.
    clients : the data of each of the m clients.
    k : models.
    step_size : gamma > 0.
    n_iterations : T >= 0.
    rng : draws the starts, then the subsets of clients.
    starts : k parameter trees, or None for k random ones.
    averaging : ``"gradient"`` (option I, one step) or ``"model"`` (option II).
    local_steps : tau, the local steps of option II.
    n_participants : size of the random subset of each iteration, None for all clients.
    known_labels : (m,) identities in [0, k), with which nothing is estimated.
    divergence_bound : largest norm of a model, over all of its arrays.
    watch : called with t, the models and the labels before each step.

    Raises
    ------
    InvalidParameter : an impossible argument, before any work, or trees that do not fit.

    Notes
    -----
    An iteration calls ``loss`` k times and ``gradient`` ``local_steps`` times a participant.

    Examples
    --------
    Two means, with the squared distance as loss:

    >>> import numpy as np
    >>> mean = Model(
    ...     init=lambda rng: rng.standard_normal(),
    ...     loss=lambda theta, y: float(np.mean((y - theta) ** 2)),
    ...     gradient=lambda theta, y: 2.0 * np.mean(theta - y),
    ... )
    >>> found = run_ifca_functions(
    ...     model=mean, clients=[np.full(3, 5.0), np.full(3, -5.0)], k=2, step_size=0.25,
    ...     n_iterations=60, rng=np.random.default_rng(0), starts=[1.0, -1.0],
    ... )
    >>> [round(float(theta), 6) for theta in found.models]
    [5.0, -5.0]
    """
    _check_lists(model, clients, starts, k)
    m = len(clients)
    one_of("averaging", averaging, ("gradient", "model"))
    if averaging == "gradient":
        integer_between("local_steps", local_steps, 1, 1, "option I takes one gradient")
    p = integer_between("n_participants", n_participants or m, 1, m, "the number of clients m")
    known = _check_labels(known_labels, m, k)
    models = [model.init(rng) for _ in range(k)] if starts is None else _check_starts(starts)
    return _iterate(
        model, clients, models, known, n_iterations, p, rng, divergence_bound, watch,
        step=partial(
            _server_step, model, m=m, step_size=step_size, averaging=averaging,
            local_steps=local_steps,
        ),
    )  # fmt: skip


def _iterate(
    model: Model,
    clients: Sequence[Any],
    models: list[Tree],
    known: IntArray | None,
    n_iterations: int,
    p: int,
    rng: np.random.Generator,
    bound: float,
    watch: Callable[[int, list[Tree], IntArray], None] | None,
    step: Callable[[Tree, Sequence[Any]], Tree],
) -> FunctionsResult:
    """The iterations, p clients each.  ``step`` gives a model after its clients' work."""
    m, k = len(clients), len(models)
    labels = np.full(m, -1, dtype=np.int64) if known is None else known
    changes, losses = np.zeros(n_iterations, dtype=np.int64), np.zeros(n_iterations)
    status = RunStatus.COMPLETED
    for t in range(n_iterations):
        subset = np.arange(m) if p == m else np.sort(rng.choice(m, p, replace=False))
        for i in subset:
            asked = range(k) if known is None else known[i : i + 1]
            found = [_call("loss", model.loss, models[j], clients[i]) for j in asked]
            best = int(np.argmin(found))
            losses[t] += found[best] / p
            if known is None:
                changes[t] += best != labels[i]
                labels[i] = best
        if watch is not None:
            watch(t, models, labels)
        chosen = [[i for i in subset if labels[i] == j] for j in range(k)]
        stepped = [step(models[j], [clients[i] for i in own]) for j, own in enumerate(chosen)]
        if not (np.isfinite(losses[t]) and all(_is_bounded(tree, bound) for tree in stepped)):
            status, losses[t:] = RunStatus.DIVERGED, np.inf
            break
        models = stepped
    return FunctionsResult(
        models=models, labels=labels, label_changes=changes, losses=losses, status=status
    )


def _check_lists(
    model: Model, clients: Sequence[Any], starts: Sequence[Tree] | None, k: int
) -> None:
    """Refuse a model, clients or starts of another kind, and another number of starts than k."""
    for name, trees in (("clients", clients), ("starts", () if starts is None else starts)):
        if not isinstance(trees, (Sequence, np.ndarray)):
            raise InvalidParameter(f"{name} must be a list, one entry each, not {type(trees)}")
    if not isinstance(model, Model) or len(clients) == 0:
        raise InvalidParameter("model must be a Model, and clients must not be empty")
    if starts is not None and len(starts) != k:
        raise InvalidParameter(f"starts holds {len(starts)} trees; there must be k={k}")


def _check_labels(known: IntArray | None, m: int, k: int) -> IntArray | None:
    """A copy of the known labels, (m,) in [0, k)."""
    if known is None:
        return None
    labels = whole_array("known_labels", known, 0, k - 1).astype(np.int64)
    if labels.shape != (m,):
        raise InvalidParameter(f"known_labels.shape={labels.shape} must be ({m},)")
    return labels


def _server_step(
    model: Model,
    start: Tree,
    own: Sequence[Any],
    m: int,
    step_size: float,
    averaging: str,
    local_steps: int,
) -> Tree:
    """Lines 14 and 15 of Algorithm 2 for one model and the data of its clients."""
    if not own:
        return start
    if averaging == "gradient":
        sums = [_call("gradient", model.gradient, start, data) for data in own]
        return tree_map(lambda x, *g: x - step_size / m * sum(g), start, *sums)
    ended = [_descend(model, start, data, step_size, local_steps) for data in own]
    return tree_map(lambda *x: sum(x) / len(x), *ended)
