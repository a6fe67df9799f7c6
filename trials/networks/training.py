"""Algorithm 2 of IFCA on networks, with the clients of a round in a few calls.

`trials.ifca.functions` runs the same algorithm on any model, a client at a time, and is the oracle
of this module's tests.  Here the clients of a round are batched.  At no time are there more than
``chunk`` clients' images or parameters in memory, however many clients there are.

Round t draws from a stream of its own, made of the seed and t.  So a run that is stopped after a
round and started again from its `State` gives the same numbers as one without the stop.  Numbers
are equal on one machine with one number of threads.  Between machines they differ by rounding.
`train_kept` writes the state after every round and goes on from it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trials.checks import FloatArray, IntArray, InvalidParameter, one_of, whole_array
from trials.ifca.communication import floats_down, floats_up
from trials.networks.architectures import Network, Tensor, Weights, load_torch
from trials.networks.federations import Federation
from trials.networks.local_steps import (
    batched,
    by_pixel,
    hidden_inputs,
    in_span,
    one_by_one,
    scores_of_hidden,
)
from trials.parameters import Integer, Maybe, Real, validated


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of Algorithm 2.

    Attributes
    ----------
    k : models.
    rounds : T.
    step_size, step_decay : the step of round t is ``step_size * step_decay**t``.
    averaging : ``"gradient"`` (option I, one step, divided by m) or ``"model"`` (option II).
    local_steps : tau.
    batch_size : images of a local step, drawn with replacement, None for all.
    participants : clients of a round, None for all.
    shared : parameters that all models have in common (Section IV-C): they are averaged over all
        participants.
    crop, flip : a local step sees images moved by up to ``crop`` pixels, and mirrored at random.
    chunk : clients in memory at a time.
    device : of PyTorch.
    """

    k: int
    rounds: int
    step_size: float = 0.1
    step_decay: float = 1.0
    averaging: Literal["gradient", "model"] = "model"
    local_steps: int = 10
    batch_size: int | None = None
    participants: int | None = None
    shared: tuple[str, ...] = ()
    crop: int = 0
    flip: bool = False
    chunk: int = 32
    device: str = "cpu"


@dataclass(frozen=True, kw_only=True)
class State:
    """A run after some rounds.

    Attributes
    ----------
    models : k dicts of parameters.
    labels : (m,) each client's last identity, -1 where it was never asked.
    losses : mean loss of the participants under the models that they chose, one a round.
    identities : share of all clients whose identity is right, up to the names of the models.
    floats : sent in a round, both ways.
    """

    models: list[Weights]
    labels: IntArray
    losses: list[float] = field(default_factory=list)
    identities: list[float] = field(default_factory=list)
    floats: list[int] = field(default_factory=list)

    @property
    def round(self) -> int:
        """Rounds that are done."""
        return len(self.losses)

    def save(self, path: Path) -> None:
        """Write the state: models, identities and the records of the rounds.

        The file is written beside and then renamed, so that a stop leaves a whole one.
        """
        leaves = {
            f"model {j} {name}": value.cpu().numpy()
            for j, model in enumerate(self.models)
            for name, value in model.items()
        }
        part = path.with_suffix(".part")
        with open(part, "wb") as stream:
            np.savez(stream, labels=self.labels, losses=self.losses, identities=self.identities,
                     floats=self.floats, **leaves)  # fmt: skip
        part.replace(path)


def load_state(path: Path, network: Network) -> State:
    """Read a file of `State.save`.

    Raises
    ------
    InvalidParameter : no such file, a broken one, or the file of another network.
    """
    torch = load_torch()
    shapes = {name: tuple(leaf.shape) for name, leaf in network.init(0).items()}
    try:
        with zipfile.ZipFile(path):  # one array alone is no state
            pass
        with np.load(path, allow_pickle=False) as stored:
            k = sum(name.endswith(f" {network.names[-1]}") for name in stored.files)
            models = [
                {name: torch.from_numpy(stored[f"model {j} {name}"]) for name in network.names}
                for j in range(k)
            ]
            found = [{name: tuple(leaf.shape) for name, leaf in each.items()} for each in models]
            if not found or any(each != shapes for each in found):
                raise ValueError(f"its parameters must have the shapes {shapes}")
            lists = {name: stored[name].tolist() for name in ("losses", "identities", "floats")}
            return State(models=models, labels=stored["labels"], **lists)
    # A broken file can also ask for a kind of compression that is not there.
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        raise InvalidParameter(f"{path}: holds no state of this network: {error}") from None


def choose_device(asked: str = "") -> str:
    """The device that is asked for, else the GPU where PyTorch finds one, else the processor.

    Raises
    ------
    InvalidParameter : a device that PyTorch does not know or does not find.
    """
    torch = load_torch()
    if not asked:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=asked)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0][:160]
        raise InvalidParameter(f"device={asked!r} must be one of PyTorch's: {reason}") from None
    return asked


@contextlib.contextmanager
def one_thread(threads: int = 1) -> Iterator[None]:
    """Deterministic algorithms on so many threads, inside the context.

    On a GPU, PyTorch has no deterministic gradient of a maximum over 2 x 2: it warns there.
    """
    torch = load_torch()
    before, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    lenient, gpu = torch.is_deterministic_algorithms_warn_only_enabled(), torch.cuda.is_available()
    if gpu:  # cuBLAS is deterministic with a fixed workspace only
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=gpu)
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(strict, warn_only=lenient)


@validated(seed=Integer(0), until=Maybe(Integer(0)))
def train(
    *,
    network: Network,
    federation: Federation,
    options: Options,
    seed: int,
    known_labels: IntArray | None = None,
    state: State | None = None,
    until: int | None = None,
) -> State:
    """Run Algorithm 2 of IFCA, or a baseline that knows the identities.

    Parameters
    ----------
    network, federation, options : what is trained, on whom and how.
    seed : of the starts, the participants and the batches.
    known_labels : (m,) identities in [0, k) with which nothing is estimated: all zero for the
        global model, the clusters for the oracle.
    state : where to go on, None for k random models.
    until : the round after which to stop, None for ``options.rounds``.

    Returns
    -------
    The state after the rounds.

    Raises
    ------
    InvalidParameter : impossible options or identities, or a loss that is not finite: the run
        diverged.
    """
    check_options(options, network, federation)
    m = federation.m
    known = None if known_labels is None else _checked_labels(known_labels, m, options.k)
    if state is None:
        labels = np.full(m, -1) if known is None else known
        state = State(models=_starts(network, options, seed), labels=labels)
    if len(state.models) != options.k or len(state.labels) != m:
        raise InvalidParameter(f"state must have k={options.k} models and {m} identities")
    models = [_moved(model, options.device) for model in state.models]
    state = replace(state, models=models)
    last = options.rounds if until is None else min(until, options.rounds)
    with one_thread():
        for t in range(state.round, last):
            state = _round(network, federation, options, seed, t, state, known_labels is None)
            if not np.isfinite(state.losses[-1]):
                raise InvalidParameter(f"the run diverged in round {t}: take a smaller step_size")
    return state


def train_kept(
    folder: Path, *, network: Network, federation: Federation, options: Options, seed: int,
    known_labels: IntArray | None = None,
) -> State:  # fmt: skip
    """`train`, with the state kept in a folder after every round.

    A run that was stopped goes on from its last whole round, with the numbers of a run without the
    stop.  The file's name is a digest of everything that a run depends on, so that a folder serves
    any number of runs.

    Parameters
    ----------
    folder : is made where it is not there.
    network, federation, options, seed, known_labels : as in `train`.

    Raises
    ------
    InvalidParameter : as `train`, and for a file that is no state.
    """
    given: dict[str, Any] = {"network": network, "federation": federation, "options": options,
                             "seed": seed, "known_labels": known_labels}  # fmt: skip
    file = folder / f"{_digest(network, federation, options, seed, known_labels)}.npz"
    state = load_state(file, network) if file.exists() else train(**given, until=0)
    folder.mkdir(parents=True, exist_ok=True)
    for done in range(state.round, options.rounds):
        state = train(**given, state=state, until=done + 1)
        state.save(file)
    return state


def _digest(
    network: Network, federation: Federation, options: Options, seed: int,
    known_labels: IntArray | None,
) -> str:  # fmt: skip
    """32 digits made of what a run depends on, the images included."""
    found = hashlib.blake2b(repr((options, seed)).encode(), digest_size=16)
    x, _ = federation.batch(np.array([0]))
    with one_thread():
        scores = network.scores(network.init(0), load_torch().from_numpy(x[0])).detach().numpy()
    for array in (scores, federation.pixels, federation.labels, federation.rows, federation.turns,
                  federation.clusters, known_labels):  # fmt: skip
        found.update(b"none" if array is None else np.ascontiguousarray(array).data)
    return found.hexdigest()


@validated(seed=Integer(0), starts=Integer(1))
def train_best(
    *,
    network: Network,
    federation: Federation,
    options: Options,
    seed: int,
    starts: int,
    tell: Callable[[State, float], None] | None = None,
    run: Callable[..., State] = train,
) -> State:
    """Run IFCA from several random starts and keep the run of the smallest training loss.

    The loss is the mean over all clients, each under its best model, after the last round.  It
    needs no truth.  The first start is that of `train` with the same seed.

    Parameters
    ----------
    network, federation, options, seed : as in `train`.
    starts : the number of runs.
    tell : gets the state and the loss of every run.
    run : `train`, or `train_kept` with its folder.

    Returns
    -------
    The state of the best run, with the floats of all runs in its rounds.

    Raises
    ------
    InvalidParameter : as `train`, where some run diverged.
    """
    others = np.random.SeedSequence([seed, 5]).generate_state(starts)[1:].tolist()
    best, least, floats = None, np.inf, np.zeros(options.rounds, dtype=np.int64)
    for each in (seed, *others):
        state = run(network=network, federation=federation, options=options, seed=each)
        with one_thread():
            losses = client_losses(
                network, federation, state.models, np.arange(federation.m), options
            )
        loss = float(losses.min(axis=1).mean())
        floats += np.asarray(state.floats, dtype=np.int64)
        if tell is not None:
            tell(state, loss)
        if best is None or loss < least:
            best, least = state, loss
    assert best is not None  # starts >= 1
    return replace(best, floats=floats.tolist())


@validated(k=Integer(1), rounds=Integer(0), step_size=Real(0.0, open_low=True),
           step_decay=Real(0.0, 1.0, open_low=True), local_steps=Integer(1),
           batch_size=Maybe(Integer(1)), participants=Maybe(Integer(1)), crop=Integer(0),
           chunk=Integer(1))  # fmt: skip
def _numbers(
    *, k: int, rounds: int, step_size: float, step_decay: float, local_steps: int,
    batch_size: int | None, participants: int | None, crop: int, chunk: int,
) -> None:  # fmt: skip
    """The numbers among the options lie in their domains."""


def check_options(options: Options, network: Network, federation: Federation) -> None:
    """Raise `InvalidParameter` for options that are impossible with a network and clients."""
    names = ("k", "rounds", "step_size", "step_decay", "local_steps", "batch_size",
             "participants", "crop", "chunk")  # fmt: skip
    _numbers(**{name: getattr(options, name) for name in names})
    one_of("averaging", options.averaging, ("gradient", "model"))
    if options.averaging == "gradient" and options.local_steps != 1:
        raise InvalidParameter(f"local_steps={options.local_steps} must be 1: option I has one")
    if (options.participants or 1) > federation.m:
        raise InvalidParameter(
            f"participants={options.participants} must be at most {federation.m}"
        )
    unknown = sorted(set(options.shared) - set(network.names))
    if unknown:
        raise InvalidParameter(f"shared must name parameters of {network.names}, not {unknown}")


def _checked_labels(known: IntArray, m: int, k: int) -> IntArray:
    """A copy of known identities, (m,) in [0, k): clients without a true cluster have none."""
    labels = whole_array("known_labels", known, 0, k - 1).astype(np.int64)
    if labels.shape != (m,):
        raise InvalidParameter(f"known_labels.shape={labels.shape} must be ({m},)")
    return labels


def _starts(network: Network, options: Options, seed: int) -> list[Weights]:
    """k random models with the shared parameters of the first."""
    seeds = np.random.SeedSequence([seed, 1]).generate_state(options.k)
    models = [network.init(int(each)) for each in seeds]
    for model in models[1:]:
        model.update({name: models[0][name] for name in options.shared})
    return models


def _moved(model: Weights, device: str) -> Weights:
    """The parameters on a device."""
    return {name: leaf.to(device) for name, leaf in model.items()}


def _round(
    network: Network, federation: Federation, options: Options, seed: int, t: int, state: State,
    estimates: bool,
) -> State:  # fmt: skip
    """One round: identities of the participants, then their steps and the mean."""
    rng = np.random.default_rng([seed, 2, t])
    m, p = federation.m, options.participants or federation.m
    subset = np.arange(m) if p == m else np.sort(rng.choice(m, p, replace=False))
    step = options.step_size * options.step_decay**t
    labels, losses = state.labels.copy(), np.empty(p)
    sums = [{name: load_torch().zeros_like(leaf) for name, leaf in model.items()}
            for model in state.models]  # fmt: skip
    for first in range(0, p, options.chunk):
        part = slice(first, first + options.chunk)
        visit = _Visit(network, federation, options, state.models, subset[part])
        labels[subset[part]], losses[part] = visit.ask(None if estimates else labels[subset[part]])
        visit.step(labels[subset[part]], step, rng, sums)
    models = _averaged(options, federation.m, state.models, sums, labels[subset])
    d = sum(leaf.numel() for leaf in models[0].values())
    n_shared = sum(models[0][name].numel() for name in options.shared)
    k = options.k if estimates else 1
    sent = floats_down(p, k, d, n_shared, not estimates) + floats_up(p, k, d, not estimates)
    return replace(
        state,
        models=models,
        labels=labels,
        losses=[*state.losses, float(losses.mean())],
        identities=[*state.identities, identity_accuracy(labels, federation.clusters, options.k)],
        floats=[*state.floats, sent],
    )


class _Visit:
    """Some participants of a round, whose images are read and turned once.

    A network with one hidden layer keeps what its hidden units get, (c, n, h) a model: the losses
    need it, and so does the first local step.
    """

    def __init__(
        self, network: Network, federation: Federation, options: Options, models: list[Weights],
        clients: IntArray,
    ) -> None:  # fmt: skip
        self.network, self.federation, self.options = network, federation, options
        self.models, self.clients = models, clients
        self.x, self.y = _on_device(*federation.batch(clients), options.device)
        self.inputs: dict[int, Tensor] = {}

    def ask(self, known: IntArray | None) -> tuple[IntArray, FloatArray]:
        """Each client's model, of the smallest loss or the known one, and its loss, (c,) both."""
        c, k = len(self.clients), len(self.models)
        losses = np.full((c, k), np.nan)
        for j in range(k) if known is None else np.unique(known):
            own = slice(None) if known is None else _where(known == j)
            losses[own, j] = self._loss(int(j), own)
        labels = losses.argmin(axis=1) if known is None else known
        return labels, losses[np.arange(c), labels]

    def _loss(self, j: int, own: IntArray | slice) -> FloatArray:
        torch = load_torch()
        with torch.no_grad():
            x, y, inputs = self.x[own], self.y[own], None
            if self.network.one_hidden:
                inputs = hidden_inputs(self.network, self.models[j], x)
                self.inputs[j] = inputs.new_empty(len(self.x), *inputs.shape[1:])
                self.inputs[j][own] = inputs
            scores = _scores(self.network, self.models[j], x, inputs)
            loss = torch.nn.functional.cross_entropy(scores, y.flatten(), reduction="none")
            found: FloatArray = loss.reshape(y.shape).mean(dim=1).double().cpu().numpy()
            return found

    def step(
        self, labels: IntArray, step: float, rng: np.random.Generator, sums: list[Weights]
    ) -> None:
        """Add the clients' parameters after their local steps to the sums of their models."""
        for j in np.unique(labels):
            own = _where(labels == j)
            ended = self._ended(int(j), own, step, rng)
            for name, leaf in ended.items():
                sums[j][name] += leaf

    def _ended(
        self, j: int, own: IntArray | slice, step: float, rng: np.random.Generator
    ) -> Weights:
        options, start = self.options, self.models[j]
        if not _whole(options):
            drawn = [
                _drawn_batch(self.federation, options, self.clients[own], rng)
                for _ in range(options.local_steps)
            ]
            x, y = [each for each, _ in drawn], [each for _, each in drawn]
        elif self.network.one_hidden:
            return in_span(self.network, start, self.x[own], self.y[own], step,
                           options.local_steps, self.inputs[j][own])  # fmt: skip
        else:
            x, y = [self.x[own]] * options.local_steps, [self.y[own]] * options.local_steps
        ended = _steps(self.network, options)(self.network, start, x, y, step)
        return {name: leaf.sum(dim=0) for name, leaf in ended.items()}


def _where(chosen: NDArray[np.bool_]) -> IntArray | slice:
    """Places of the chosen.  All of them are a slice, which copies no image."""
    return slice(None) if chosen.all() else np.flatnonzero(chosen)


def _whole(options: Options) -> bool:
    """Whether a local step takes all images as they are."""
    return options.batch_size is None and not options.crop and not options.flip


def _steps(network: Network, options: Options) -> Callable[..., Weights]:
    """The way to take many clients' steps.  Convolutions are slower in a batch on a processor."""
    alone = options.device == "cpu" and not network.one_hidden
    return one_by_one if alone else batched


def _scores(network: Network, model: Weights, x: Tensor, inputs: Tensor | None = None) -> Tensor:
    """The scores (c n, classes) of images (c, n, ...), from what hidden units get where known."""
    if network.one_hidden:
        inputs = hidden_inputs(network, model, x) if inputs is None else inputs
        return scores_of_hidden(network, model, inputs)
    return network.scores(model, by_pixel(x.flatten(0, 1)))


def client_losses(
    network: Network, federation: Federation, models: list[Weights], clients: IntArray,
    options: Options,
) -> FloatArray:  # fmt: skip
    """Every client's mean loss under every model, (c, k)."""
    return client_scores(network, federation, models, clients, options)[0]


def client_scores(
    network: Network, federation: Federation, models: list[Weights], clients: IntArray,
    options: Options,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Every client's mean loss and accuracy under every model, (c, k) each."""
    torch = load_torch()
    losses, right = np.empty((len(clients), len(models))), np.empty((len(clients), len(models)))
    with torch.no_grad():
        for first in range(0, len(clients), options.chunk):
            part = slice(first, first + options.chunk)
            x, y = _on_device(*federation.batch(clients[part]), options.device)
            labels = y.flatten()
            for j, model in enumerate(models):
                scores = _scores(network, model, x)
                loss = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
                losses[part, j] = loss.reshape(y.shape).mean(dim=1).cpu().numpy()
                hits = (scores.argmax(dim=1) == labels).float().reshape(y.shape)
                right[part, j] = hits.mean(dim=1).cpu().numpy()
    return losses, right


def _averaged(
    options: Options, m: int, models: list[Weights], sums: list[Weights], labels: IntArray
) -> list[Weights]:
    """Lines 14 and 15 of Algorithm 2.  A model that nobody chose keeps its own parameters."""
    found = []
    for j, start in enumerate(models):
        mean = {}
        for name, leaf in start.items():
            pooled = name in options.shared
            number = len(labels) if pooled else int((labels == j).sum())
            total = sum(each[name] for each in sums) if pooled else sums[j][name]
            if options.averaging == "gradient":  # the ends are one step away: sum of the gradients
                mean[name] = leaf + (total - number * leaf) / m
            else:
                mean[name] = total / number if number else leaf
        found.append(mean)
    return found


def _drawn_batch(
    federation: Federation, options: Options, clients: IntArray, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """A batch of each client, with its images moved and mirrored where the options say so."""
    n = federation.rows.shape[1]
    columns = rng.integers(0, n, (len(clients), options.batch_size or n))
    x, y = federation.batch(clients, columns)
    c, b, _, side, _ = x.shape
    flat = x.reshape(c * b, *x.shape[2:])
    if options.flip:
        mirrored = rng.random(c * b) < 0.5
        flat[mirrored] = flat[mirrored, :, :, ::-1]
    if options.crop:
        pad = options.crop
        wide = np.pad(flat, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        top, left = rng.integers(0, 2 * pad + 1, (2, c * b))
        rows = top[:, None, None] + np.arange(side)[None, :, None]
        places = left[:, None, None] + np.arange(side)[None, None, :]
        flat = np.ascontiguousarray(
            wide[np.arange(c * b)[:, None, None], :, rows, places].transpose(0, 3, 1, 2)
        )
    return _on_device(flat.reshape(x.shape), y, options.device)


def _on_device(x: np.ndarray[Any, Any], y: IntArray, device: str) -> tuple[Tensor, Tensor]:
    torch = load_torch()
    return torch.from_numpy(np.ascontiguousarray(x)).to(device), torch.from_numpy(y).to(device)


def identity_accuracy(labels: IntArray, clusters: IntArray, k: int) -> float:
    """The share of labels (m,) that are right up to the models' names, NaN without truth.

    Examples
    --------
    >>> import numpy as np
    >>> identity_accuracy(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 0]), 2)
    0.75
    """
    from scipy.optimize import linear_sum_assignment

    if (clusters < 0).any():
        return float("nan")
    both = max(k, int(clusters.max()) + 1)
    asked = labels >= 0
    table = np.zeros((both, both), dtype=np.int64)
    np.add.at(table, (labels[asked], clusters[asked]), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / len(labels))


def served(
    network: Network, models: list[Weights], test: Federation, options: Options
) -> FloatArray:
    """(m,) accuracy of every test client, with the model of the smallest loss on its data."""
    with one_thread():
        losses, right = client_scores(network, test, models, np.arange(test.m), options)
    return np.asarray(right[np.arange(test.m), losses.argmin(axis=1)])


def train_alone(
    network: Network, federation: Federation, clients: IntArray, options: Options, seed: int
) -> Weights:
    """Models that some clients train alone from one start, (c, ...) leaves.

    As many steps are taken as ``options.rounds`` rounds have.  All c models are held at once.
    """
    torch = load_torch()
    start = network.init(int(np.random.SeedSequence([seed, 3]).generate_state(1)[0]))
    start = _moved(start, options.device)
    rng = np.random.default_rng([seed, 4])
    with one_thread():
        found = [
            _alone(network, federation, clients[first : first + options.chunk], options, start, rng)
            for first in range(0, len(clients), options.chunk)
        ]
    return {name: torch.cat([each[name] for each in found]) for name in start}


def _alone(
    network: Network, federation: Federation, part: IntArray, options: Options, start: Weights,
    rng: np.random.Generator,
) -> Weights:  # fmt: skip
    """The models of some clients that train alone."""
    torch = load_torch()
    own: Weights = {name: leaf.expand(len(part), *leaf.shape) for name, leaf in start.items()}
    if _whole(options):
        x, y = _on_device(*federation.batch(part), options.device)
        if network.one_hidden and options.step_decay == 1.0:
            n_steps = options.rounds * options.local_steps
            ended = [in_span(network, start, x[i : i + 1], y[i : i + 1], options.step_size, n_steps)
                     for i in range(len(part))]  # fmt: skip
            return {name: torch.stack([each[name] for each in ended]) for name in start}
    take = _steps(network, options)
    for t in range(options.rounds):
        drawn = [
            (x, y) if _whole(options) else _drawn_batch(federation, options, part, rng)
            for _ in range(options.local_steps)
        ]
        own = take(network, own, [each for each, _ in drawn], [each for _, each in drawn],
                   options.step_size * options.step_decay**t)  # fmt: skip
    return own


def accuracies_alone(
    network: Network, models: Weights, clients: IntArray, train_on: Federation, test: Federation,
    options: Options,
) -> FloatArray:  # fmt: skip
    """(c,) accuracy of `train_alone`'s models, on test images of the client's cluster.

    A client without a cluster is tested on its own test images.
    """
    found = np.empty(len(clients))
    with one_thread():
        for i, client in enumerate(clients):
            model = {name: leaf[i] for name, leaf in models.items()}
            cluster = train_on.clusters[client]
            tests = np.flatnonzero(test.clusters == cluster) if cluster >= 0 else [client]
            found[i] = client_scores(network, test, [model], np.asarray(tests), options)[1].mean()
    return found


def local_accuracies(
    network: Network, train_on: Federation, test: Federation, clients: IntArray, options: Options,
    seed: int,
) -> FloatArray:  # fmt: skip
    """(c,) accuracy of models that some clients train alone: both functions above."""
    models = train_alone(network, train_on, clients, options, seed)
    return accuracies_alone(network, models, clients, train_on, test, options)


def cluster_models(models: Weights, k: int, seed: int, n_init: int = 10) -> IntArray:
    """Labels (c,) of `train_alone`'s models by k-means on all parameters.

    The step of the one-shot method of TIT 2022, Section IV-A, between local training and training
    within the clusters.  The best of ``n_init`` starts of k-means++ counts.
    """
    from scipy.cluster.vq import kmeans2

    points = np.concatenate(
        [leaf.cpu().numpy().reshape(len(leaf), -1) for leaf in models.values()], axis=1
    ).astype(np.float64)
    rng = np.random.default_rng([seed, 6])
    best, least = np.zeros(len(points), dtype=np.int64), np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an empty cluster: its start has no use
        for _ in range(n_init):
            centres, labels = kmeans2(points, k, minit="++", rng=rng)
            spread = float(((points - centres[labels]) ** 2).sum())
            if np.isfinite(spread) and spread < least:
                best, least = labels.astype(np.int64), spread
    return best
