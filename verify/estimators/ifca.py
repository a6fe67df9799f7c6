"""IFCA with its options, as an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.checks import (
    FloatArray,
    IntArray,
    InvalidParameter,
    flag,
    integer_between,
    one_of,
    real_array,
    require_finite,
)
from trials.ifca.communication import floats_down, floats_up
from trials.ifca.functions import Model, run_ifca_functions
from trials.ifca.linear import LARGEST_BOUND
from trials.ifca.options import IfcaOptions, run_ifca_options
from trials.models.clients import ClientData
from trials.models.run_status import RunStatus
from trials.norms import last_axis_lengths
from verify.estimators.base import MORE_STARTS, FederatedEstimator, Outcome
from verify.estimators.losses import client_losses, is_compiled, largest_norm, mean_loss, step_of


class IFCA(FederatedEstimator):
    r"""The iterative federated clustering algorithm (Ghosh, Chung, Yin & Ramchandran, TIT 2022).

    In each round the clients choose the model of least loss, and the centre averages their steps.
    The kernel `trials.ifca.options` takes clients of any sizes.

    Parameters
    ----------
    n_clusters : k.
    n_rounds : rounds T.
    step_size : gamma.  "auto" is one over the largest curvature of a client's loss.  With it no
        round of all clients, all rows and one local step raises the mean of the clients' losses.
    init : "random", or starts (k, d), with the intercept last where one is fitted.
    n_init : random starts.  All of them run, all their floats count, and the one of least loss is
        kept.  The papers' algorithm has one start, and each further one costs the clients as many
        floats again.  So the default is 1, and not the 10 of methods whose further starts send
        nothing, such as `FeSEM`.  One start often ends in a poor optimum: where the floats can be
        afforded, take 10.
    averaging : "model" (option II) or "gradient" (option I, whose step is divided by m).
    local_steps, step_decay, batch_size, n_participants, stable_after : as in
        `trials.ifca.options.IfcaOptions`.
    loss, l2, fit_intercept : as in `LocalModels`.
    record_loss : whether ``history_["loss"]`` is computed, which is a pass over the rows a round.
    random_state : None, a seed or a Generator.

    Notes
    -----
    The papers leave the random start open.  Here its entries are normal, scaled by the root mean
    square of y over that of the norm of x, so that other units give the same fit.  With a loss of
    one's own `trials.ifca.functions` runs, which has no mini-batches, decay or settling.

    A ``ConvergenceWarning`` says that clients still changed their labels in the last of several
    rounds.

    The authors' code (jichan3751/ifca, ``synthetic``) averages gradients of the whole square.  With
    ``averaging="gradient"`` and twice its step size, its models of 60 rounds are these to 4e-16.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, of = rng.standard_normal((200, 2)), np.repeat(np.arange(10), 20)
    >>> y = np.where(of < 5, x[:, 0], -x[:, 0])
    >>> IFCA(n_clusters=2, random_state=0).fit(x, y, clients=of).labels_.tolist()
    [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    """

    def __init__(
        self, n_clusters: int = 2, *, n_rounds: int = 100, step_size: float | str = "auto",
        init: Any = "random", n_init: int = 1, averaging: str = "model", local_steps: int = 1,
        step_decay: float = 1.0, batch_size: int | None = None, n_participants: int | None = None,
        stable_after: int | None = None, loss: Any = "squared", l2: float | None = None,
        fit_intercept: bool = False, record_loss: bool = True, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.n_rounds = n_rounds
        self.step_size = step_size
        self.init = init
        self.n_init = n_init
        self.averaging = averaging
        self.local_steps = local_steps
        self.step_decay = step_decay
        self.batch_size = batch_size
        self.n_participants = n_participants
        self.stable_after = stable_after
        self.loss = loss
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.record_loss = record_loss
        self.random_state = random_state

    def _solve(self, data: ClientData, loss: Any, rng: np.random.Generator) -> Outcome:
        k = self._clusters(data, self.n_clusters)
        flag("record_loss", self.record_loss)
        starts = random_starts(data, self.init, k, self.n_init, rng)
        step = step_of(self.step_size, data, loss)
        run = self._compiled if is_compiled(loss) else self._own
        n_rounds = integer_between("n_rounds", self.n_rounds, 0)
        found = run(data, loss, starts, step, n_rounds, rng)
        self._warn_of_changes(found.history["label_changes"], MORE_STARTS)
        return found

    def _compiled(
        self, data: ClientData, loss: Any, starts: FloatArray, step: float, n_rounds: int,
        rng: np.random.Generator,
    ) -> Outcome:  # fmt: skip
        curves = np.full((n_rounds, len(starts)), np.nan)

        def observe(t: int, runs: IntArray, models: FloatArray, labels: IntArray) -> None:
            for run, theta, own in zip(runs, models, labels, strict=True):
                if t:
                    curves[t - 1, run] = mean_loss(data, theta, own, loss)

        options = IfcaOptions(
            averaging=self.averaging,  # type: ignore[arg-type]
            local_steps=self.local_steps, step_decay=self.step_decay, batch_size=self.batch_size,
            n_participants=self.n_participants, stable_after=self.stable_after,
        )  # fmt: skip
        found = run_ifca_options(
            data=data, starts=starts, step_sizes=np.full(len(starts), step), n_iterations=n_rounds,
            options=options, loss=loss, rng=rng, observe=observe if self.record_loss else None,
            divergence_bound=largest_norm(data),
        )  # fmt: skip
        ended = np.flatnonzero(found.status == RunStatus.COMPLETED)
        if not ended.size:
            raise InvalidParameter(f"step_size={step:g} must be smaller: every start diverged")
        labels = [_complete(data, found.models[r], found.labels[r], loss) for r in ended]
        losses = [
            mean_loss(data, found.models[r], own, loss)
            for r, own in zip(ended, labels, strict=True)
        ]
        best = int(np.argmin(losses))
        run = ended[best]
        history = {
            "label_changes": found.label_changes[:, run],
            "floats_up": found.up.sum(axis=1), "floats_down": found.down.sum(axis=1),
        }  # fmt: skip
        if self.record_loss and n_rounds:
            curves[-1, run] = losses[best]
            history["loss"] = curves[:, run]
        return Outcome(
            models=found.models[run], labels=labels[best], n_rounds=n_rounds,
            floats_up=int(found.up.sum()), floats_down=int(found.down.sum()), history=history,
        )  # fmt: skip

    def _own(
        self, data: ClientData, loss: Any, starts: FloatArray, step: float, n_rounds: int,
        rng: np.random.Generator,
    ) -> Outcome:  # fmt: skip
        for name, plain in (("batch_size", None), ("stable_after", None), ("step_decay", 1.0)):
            if getattr(self, name) != plain:
                raise InvalidParameter(f"{name} must be {plain} with a loss of one's own")
        model = Model(
            init=lambda _: np.zeros(data.dimension),
            loss=lambda theta, own: float(loss.values(*own, theta).mean()),
            gradient=lambda theta, own: loss.gradients(*own, theta).mean(axis=0),
        )
        ends = data.offsets[1:-1]
        clients = list(
            zip(np.split(data.features, ends), np.split(data.responses, ends), strict=True)
        )
        best: tuple[float, Outcome] | None = None
        m, k, d = data.n_clients, starts.shape[1], data.dimension
        p = m if self.n_participants is None else self.n_participants
        sent = len(starts) * n_rounds
        for start in starts:
            curve = _Curve(data, loss)
            found = run_ifca_functions(
                model=model, clients=clients, k=k, step_size=step, n_iterations=n_rounds, rng=rng,
                starts=list(start), averaging=self.averaging,  # type: ignore[arg-type]
                local_steps=self.local_steps, n_participants=self.n_participants,
                divergence_bound=largest_norm(data),
                watch=curve.watch if self.record_loss else None,
            )  # fmt: skip
            if found.status == RunStatus.DIVERGED:
                continue
            models = np.asarray(found.models)
            labels = _complete(data, models, found.labels, loss)
            value = mean_loss(data, models, labels, loss)
            if best is None or value < best[0]:
                history: dict[str, Any] = {"label_changes": found.label_changes}
                if self.record_loss and n_rounds:
                    history["loss"] = [*curve.values, value]
                best = value, Outcome(
                    models=models, labels=labels, n_rounds=n_rounds, history=history,
                    floats_up=sent * floats_up(p, k, d, False),
                    floats_down=sent * floats_down(p, k, d, 0, False),
                )  # fmt: skip
        if best is None:
            raise InvalidParameter(f"step_size={step:g} must be smaller: every start diverged")
        return best[1]


class _Curve:
    """Mean losses of all rows after each round but the last, under the labels of that round."""

    def __init__(self, data: ClientData, loss: Any) -> None:
        self.values: list[float] = []
        self._data, self._loss = data, loss
        self._labels: IntArray | None = None

    def watch(self, _round: int, models: list[Any], labels: IntArray) -> None:
        """Note the models before a step, which are those after the round before."""
        if self._labels is not None:
            found = mean_loss(self._data, np.asarray(models), self._labels, self._loss)
            self.values.append(found)
        self._labels = labels.copy()


def _complete(data: ClientData, models: FloatArray, labels: IntArray, loss: Any) -> IntArray:
    """Labels (m,), those of clients that were never asked by their losses."""
    if (labels >= 0).all():
        return labels
    return np.where(labels >= 0, labels, client_losses(data, models, loss).argmin(axis=1))


def random_starts(
    data: ClientData,
    init: Any,
    k: int,
    n_init: int,
    rng: np.random.Generator,
    most: float = LARGEST_BOUND,
) -> FloatArray:
    """Starts (R, k, d): given ones, or normal ones in the data's unit.

    ``most`` is the largest norm that the method takes, in any unit.
    """
    bound = largest_norm(data, most)
    if not isinstance(init, str):
        starts = real_array("init", init)
        if starts.shape != (k, data.dimension):
            raise InvalidParameter(f"init.shape={starts.shape} must be ({k}, {data.dimension})")
        require_finite("init", starts)
        with np.errstate(over="ignore"):  # an infinite norm is refused, too
            longest = float(last_axis_lengths(starts).max())
        if longest > bound:
            raise InvalidParameter(
                f"init has a model of norm {longest:.3g}: it must be at most {bound:.3g}, where "
                "models of these data have diverged"
            )
        return starts[None]
    one_of("init", init, ("random",))
    runs = integer_between("n_init", n_init, 1)
    return np.asarray(data.model_unit * rng.standard_normal((runs, k, data.dimension)))
