r"""Experiments on whole runs of Phase 2.

``sxy.refinement`` (design 245): FedAvg or FedProx with clustering on drawn clients, from models at
distance ``near`` Delta from their optima, 40 rounds.

* ``err_0`` to ``err_40``: the distance (6) of the models before each round and after the last.
* ``oracle``: the largest :math:`\lVert K_j^{-1}B\Lambda_j\zeta\rVert`, where the true labels end.
  Infinite where a matrix is singular.
* ``client``: the error of the global model that one client chooses in the end.
* ``step``: eta.  ``skew``: :math:`\chi^2(n)+1`.  ``smallest``: the smallest :math:`N_j/N`.
* ``expected``: :math:`\frac1N\sum_in_i\min(1,4ke^{-cn_i})` with c = ``rate``.

``sxy.clustering-error`` (design 310): the start of such a run alone.

* ``share``: the largest share of the rows with a wrong label that concerns one cluster.
* ``pull``: the largest :math:`\lVert B\mathcal E_j(\phi\theta_j-y)\rVert/s`.

``sxy.local-steps`` (design 246): three choices of local steps on the same clients, from the same
models, after ten rounds: distances (6) over the distance of the start.

* ``single``: one local step with gamma = 0.95.
* ``close``: s local steps with kappa = 1.1.
* ``many``: s local steps with gamma = 0.95.

``sxy.large`` (design 249): FedAvg with clustering, one local step, from models at distance ``near``
Delta from their optima, until the slowest direction has shrunk by ``shrink``.

* ``start``, ``end``: the distance (6) of the models before the first round and after the last.
* ``known``: the largest :math:`\lVert K_j^{-1}B\Lambda_j\zeta\rVert`, where rounds with the true
  labels end.
* ``wrong``: the share of the clients with a wrong label in the last round.
* ``rounds``: the number of rounds.

A step shrinks the slowest direction of model j by :math:`1-\eta\lambda_{\min}(K_j)`, and the
eigenvalue is known before the first round.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.experiments.sxy.clients import (
    CLIENTS,
    LOCAL,
    Clients,
    draw_clients,
    draw_factors,
    draw_gram_trials,
    draw_grams,
    enough_clients,
    gram_numbers,
    in_parts,
    shares_have_the_ratio,
    spectrum_ordered,
    stability_of,
    stable_step,
    step_size,
    step_sizes,
)
from trials.experiments.sxy.spectrum import are_singular, cluster_matrices, true_sums
from trials.mixed_regression.fed_regression import local_spectra, run_fed_regression
from trials.mixed_regression.gram_rounds import (
    ClientSteps,
    GramClients,
    client_steps,
    gram_labels,
    gram_rounds,
    gram_spectra,
)
from trials.models import mixture as mx
from trials.models.clients import KnownClusters
from trials.models.matching import bottleneck_distances
from trials.parameters import Integer, Options, Parameters, Real, unchecked
from trials.run.cell import Params
from trials.run.experiment import add_experiment, each_trial

N_ROUNDS = 40
SUMMARY = ("oracle", "client", "step", "skew", "smallest", "expected")
_directions, _displaced = unchecked(mx.init_directions), unchecked(mx.displace)
STARTS = ("adversarial", "random", "translation", "orthogonal")


def start_has_a_direction(cell: Params) -> None:
    """A start that is not random needs two clusters, and an orthogonal one two dimensions."""
    needed = {"random": (), "orthogonal": ("k", "d")}.get(cell["start"], ("k",))
    for name in needed:
        if cell[name] < 2:
            raise InvalidParameter(f"{name}={cell[name]} must be >= 2 for start={cell['start']!r}")


RUNS = LOCAL.extended(
    {
        "near": Real(0.0, 0.5, default=0.1, meaning="distance of the start over Delta"),
        "start": Options(STARTS, default="adversarial", meaning="direction of the start"),
        "rate": Real(
            0.0, 1e3, default=0.15, meaning="rate c of p_e in the column expected", exhibited=True
        ),
    },
    start_has_a_direction,
)


def start_models(params: Params, clients: KnownClusters, rng: np.random.Generator) -> FloatArray:
    """Models at distance ``near`` Delta from their optima, (k, d)."""
    theta_star = clients.theta_star
    gaussian = rng.standard_normal(theta_star.shape)
    victim = int(np.argmax(clients.cluster_rows))
    directions = mx.init_directions(theta_star, params["start"], gaussian, victim)
    return mx.displace(theta_star, 0.5 - params["near"], directions)


def nearest_labels(clients: Clients, models: FloatArray) -> IntArray:
    """The labels (8), (M,)."""
    errors = (clients.data.responses[:, None] - clients.data.features @ models.T) ** 2
    losses = np.add.reduceat(errors, clients.data.offsets[:-1], axis=0)
    return np.asarray(losses.argmin(axis=1))


def clustering_pull(
    clients: Clients, models: FloatArray, eta: float, s: int
) -> tuple[float, float]:
    """Models (k, d) give the largest norm of the wrong labels' sum over s, and their row share."""
    labels, truth = nearest_labels(clients, models), clients.labels
    rows = clients.sizes
    share, pull = 0.0, 0.0
    total = float(rows.sum())
    for j in range(len(models)):
        # Clients that are j's and are not labelled so, and those that are labelled so and are not.
        wrong = (labels == j) != (truth == j)
        share = max(share, float(rows[wrong].sum()) / total)
        # A client that is gained pulls the model, and one that is lost is missing.
        signs = np.where(wrong, np.where(labels == j, 1.0, -1.0), 0.0)
        residuals = clients.data.features @ models[j] - clients.data.responses
        if s != 1:
            for i in np.flatnonzero(wrong):
                own = slice(clients.data.offsets[i], clients.data.offsets[i + 1])
                phi = clients.data.features[own]
                residuals[own] = apply_filter(phi, residuals[own], eta, s)
        sums = (np.repeat(signs, rows) * residuals) @ clients.data.features
        pull = max(pull, float(np.linalg.norm(sums)) / total / max(s, 1))
    return pull, share


def apply_filter(phi: FloatArray, residual: FloatArray, eta: float, s: int) -> FloatArray:
    """P times a residual (n,), for one client: s powers of FedAvg, or FedProx for s = 0."""
    n = len(residual)
    if s == 0:  # (I + c X X')^-1 = I - c X (I + c X'X)^-1 X', with few features a row
        inner = np.eye(phi.shape[1]) + eta / n * (phi.T @ phi)
        return np.asarray(residual - eta / n * (phi @ np.linalg.solve(inner, phi.T @ residual)))
    total, power = residual.copy(), residual
    for _ in range(s - 1):
        power = power - eta / n * (phi @ (phi.T @ power))
        total += power
    return total


def start_trials(
    params: Params, clients: GramClients, rng: np.random.Generator, n_trials: int
) -> FloatArray:
    """The models of `start_models` for each of T trials, (T, k, d)."""
    theta_star = clients.theta_star
    if params["start"] == "adversarial":  # the same in all, because the optima are
        directions = _directions(theta_star, params["start"], theta_star)
        models = _displaced(theta_star, 0.5 - params["near"], directions)
        return np.tile(models, (n_trials, 1, 1))
    if params["start"] == "random":
        gaussian = rng.standard_normal((n_trials, *theta_star.shape))
        return _displaced(theta_star, 0.5 - params["near"], gaussian)
    return np.array([start_models(params, clients.trial(t), rng) for t in range(n_trials)])


def _simulate_runs(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    clients = draw_gram_trials(params, rng, n_trials)
    spectra = gram_spectra(clients)
    eta = step_sizes(params, spectra)
    steps = client_steps(clients, spectra, eta, params["s"] if params["rule"] == "fedavg" else 0)
    start = start_trials(params, clients, rng, n_trials)
    paths = gram_rounds(clients, steps, start, eta, N_ROUNDS)
    matrices, noise = true_sums(clients, steps)
    ends = np.full(n_trials, math.inf)
    ended = ~are_singular(np.asarray(np.linalg.eigvalsh(matrices))).any(axis=1)
    if ended.any():
        reached = np.linalg.solve(matrices[ended], noise[ended][..., None])[..., 0]
        ends[ended] = np.linalg.norm(reached, axis=-1).max(axis=-1)
    k, d = clients.theta_star.shape
    errors = bottleneck_distances(paths.reshape(-1, k, d), clients.theta_star)
    sizes = clients.sizes.astype(float)
    shares = sizes / sizes.sum(axis=1, keepdims=True)
    p_e = np.minimum(1.0, 4 * k * np.exp(-params["rate"] * sizes))
    return np.column_stack(
        [
            errors.reshape(n_trials, -1),
            ends,
            _errors_of_one_client(clients, paths[:, -1], rng),
            eta,
            ((shares * params["M"] - 1.0) ** 2).mean(axis=1) + 1.0,
            clients.cluster_rows.min(axis=1) / sizes.sum(axis=1),
            (shares * p_e).sum(axis=1),
        ]
    )


def _errors_of_one_client(
    clients: GramClients, models: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """The error of the model that a random client of each trial chooses from (T, k, d), (T,)."""
    chosen = rng.integers(len(clients.labels), size=len(models))
    truth = clients.theta_star[clients.labels[chosen]]
    trial = np.arange(len(models))
    gaps = models - truth[:, None]
    images = gaps @ clients.grams[trial, chosen]
    losses = ((images - 2.0 * clients.pulls[trial, chosen][:, None]) * gaps).sum(axis=2)
    return np.asarray(np.linalg.norm(gaps[trial, losses.argmin(axis=1)], axis=1))


REFINEMENT = add_experiment(
    name="sxy.refinement",
    design=245,
    columns=(*(f"err_{t}" for t in range(N_ROUNDS + 1)), *SUMMARY),
    simulate=in_parts(_simulate_runs, gram_numbers),
    parameters=RUNS,
    block_size=8,
)


# -- the wrong labels of one round ----------------------------------------------------------------


MOST_DIMENSIONS = 16
"""From here on few rows are handled faster than a d x d matrix."""


def gram_pull(
    clients: GramClients, steps: ClientSteps, models: FloatArray, s: int
) -> tuple[float, float]:
    """`clustering_pull` on Gram matrices."""
    labels, truth = gram_labels(clients, models), clients.labels
    total, share, pull = float(clients.sizes.sum()), 0.0, 0.0
    for j in range(len(models)):
        wrong = np.flatnonzero((labels == j) != (truth == j))
        share = max(share, float(clients.sizes[wrong].sum()) / total)
        errors = models[j] - clients.theta_star[truth[wrong]]
        terms = (steps.maps[wrong] @ errors[:, :, None])[:, :, 0] - steps.shifts[wrong]
        signs = np.where(labels[wrong] == j, 1.0, -1.0)
        pull = max(pull, float(np.linalg.norm(signs @ terms)))
    return pull / total / max(s, 1), share


def _one_round(params: Params, rng: np.random.Generator) -> tuple[float, float]:
    s = params["s"] if params["rule"] == "fedavg" else 0
    if params["d"] > max(params["n"], MOST_DIMENSIONS):
        clients = draw_clients(params, rng)
        spectra = local_spectra(clients.data)
        start = start_models(params, clients, rng)
        pull, share = clustering_pull(clients, start, step_size(params, spectra), s)
        return share, pull
    grams = draw_grams(params, rng)
    decomposed = gram_spectra(grams)
    steps = client_steps(grams, decomposed, float(step_sizes(params, decomposed)), s)
    pull, share = gram_pull(grams, steps, start_models(params, grams, rng), s)
    return share, pull


def _needs_few_dimensions(params: Params) -> bool:
    """Whether wrong labels are known from the optima's own dimensions: one step of FedAvg, Gaussian
    features without covariance, and models between the optima.
    """
    isotropic = params["alpha"] == params["beta"] == 1.0 and params["features"] == "gaussian"
    one_step = params["rule"] == "fedavg" and params["s"] == 1
    return bool(isotropic and one_step and params["start"] == "adversarial")


def _simulate_between(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    r"""The columns of cells that `_needs_few_dimensions`.

    All errors of models lie in the q dimensions of the optima, so that labels and residuals
    :math:`r_{ij}=X_i\theta_j-y_i` need the features' first q coordinates alone.  The other ones are
    independent of these.  So the sums of :math:`\pm X_i^\top r_{ij}` over the clients with a wrong
    label are, in each other dimension, k Gaussian numbers with the covariances
    :math:`\sum_i\pm\langle r_{ij},r_{il}\rangle`.
    """
    k, d = params["k"], params["d"]
    q = k - 1 if d >= k - 1 else 1  # those of a simplex or a line
    drawn = draw_factors({**params, "d": q}, rng, n_trials)
    optima, truth = drawn.theta_star, drawn.labels
    models = _displaced(optima, 0.5 - params["near"], _directions(optima, params["start"], optima))
    answers = (drawn.factors @ optima[truth][:, :, None])[..., 0] + drawn.noise
    residuals = drawn.factors @ models.T - answers[..., None]  # (T, M, r, k)
    labels = (residuals**2).sum(axis=2).argmin(axis=2)
    t, i = np.nonzero(labels != truth)
    gained, lost, rows = labels[t, i], truth[i], drawn.sizes[t, i]
    # what a client's residuals have in common beyond the r coordinates
    rank = np.minimum(rows, drawn.noise.shape[2])
    common = params["sigma"] ** 2 * _chi_squares(rows - rank, rng)
    share, sums = np.zeros((n_trials, k)), np.zeros((n_trials, k, q))
    covariances = np.zeros((n_trials, k, k))
    ends = [(j, sign, residuals[t, i, :, j]) for j, sign in ((gained, 1.0), (lost, -1.0))]
    for j, sign, residual in ends:
        np.add.at(share, (t, j), rows)
        np.add.at(sums, (t, j), sign * (residual[:, None] @ drawn.factors[t, i])[:, 0])
        for other, other_sign, other_residual in ends:
            products = (residual * other_residual).sum(axis=1) + common
            np.add.at(covariances, (t, j, other), sign * other_sign * products)
    squares = (sums**2).sum(axis=2)
    if d > q:
        beyond = _roots(covariances) @ rng.standard_normal((n_trials, k, d - q))
        squares += (beyond**2).sum(axis=2)
    totals = drawn.sizes.sum(axis=1)
    found = np.column_stack([share.max(axis=1), np.sqrt(squares.max(axis=1))])
    return np.asarray(found / totals[:, None])


def _chi_squares(degrees: IntArray, rng: np.random.Generator) -> FloatArray:
    """Independent chi-square numbers, zero for no degrees of freedom."""
    return np.where(degrees > 0, rng.chisquare(np.maximum(degrees, 1)), 0.0)


def _roots(covariances: FloatArray) -> FloatArray:
    """Matrices L (..., k, k) with L L' = C, of matrices that may be singular."""
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


def _between_numbers(params: Params) -> int:
    """The entries of the larger one of a trial's factors and residuals."""
    k = params["k"]
    return int(params["M"] * min(k, math.ceil(params["n"])) * k)


_one_by_one = each_trial(_one_round)
_together = in_parts(_simulate_between, _between_numbers)


def _simulate_round(params: Params, rng: np.random.Generator, n_trials: int) -> FloatArray:
    simulate = _together if _needs_few_dimensions(params) else _one_by_one
    return simulate(params, rng, n_trials)


CLUSTERING_ERROR = add_experiment(
    name="sxy.clustering-error",
    design=310,
    columns=("share", "pull"),
    simulate=_simulate_round,
    parameters=RUNS,
    block_size=8,
)


# -- local steps on the same clients -------------------------------------------------------------


def gamma_of(kappa: float, s: int) -> float:
    """The gamma at which s local steps of FedAvg have this kappa, for s >= 2."""

    def excess(gamma: float) -> float:
        return stability_of({"rule": "fedavg", "gamma": gamma, "s": s}) - kappa

    return float(optimize.brentq(excess, 1e-12, 1.0 - 1e-12))


def _one_comparison(params: Params, rng: np.random.Generator) -> tuple[float, ...]:
    clients = draw_grams(params, rng)
    spectra = gram_spectra(clients)
    start = start_models(params, clients, rng)
    s, errors = params["s"], []
    for n_steps, gamma in ((1, 0.95), (s, gamma_of(1.1, s)), (s, 0.95)):
        eta = float(stable_step(gamma, spectra.largest))
        steps = client_steps(clients, spectra, eta, n_steps)
        path = gram_rounds(clients, steps, start, eta, 10)
        first, last = bottleneck_distances(path[[0, -1]], clients.theta_star)
        errors.append(float(last / first))
    return tuple(errors)


LOCAL_STEPS = add_experiment(
    name="sxy.local-steps",
    design=246,
    columns=("single", "close", "many"),
    simulate=each_trial(_one_comparison),
    parameters=RUNS.extended(
        {
            "s": Integer(2, 10**6, default=10, meaning="local steps"),
            # the columns are ratios to the distance of the start
            "near": Real(
                0.0, 0.5, open_low=True, default=0.1, meaning="distance of the start over Delta"
            ),
        }
    ),
    block_size=16,
)


# -- tens of thousands of clients ------------------------------------------------------------------


MOST_FEATURES = 4 * 10**8
MOST_ROUNDS = 100_000


def large_data_fit(cell: Params) -> None:
    """M n d features take at most 3.2 GB."""
    features = round(cell["M"] * cell["n"]) * cell["d"]
    if features > MOST_FEATURES:
        raise InvalidParameter(f"features M n d={features} must be <= {MOST_FEATURES}")


def _one_large_trial(params: Params, rng: np.random.Generator) -> tuple[float, ...]:
    clients = draw_clients(params, rng)
    spectra = local_spectra(clients.data)
    eta = step_size(params, spectra)
    matrices, noise = cluster_matrices(clients, spectra, eta, 1)
    eigenvalues = np.asarray(np.linalg.eigvalsh(matrices))
    if are_singular(eigenvalues).any():  # some direction never shrinks
        raise InvalidParameter(
            f"M={params['M']}, n={params['n']:g} must give each cluster rows in all "
            f"d={params['d']} directions"
        )
    known = np.linalg.norm(np.linalg.solve(matrices, noise[..., None])[..., 0], axis=1).max()
    slowest = -math.log1p(-eta * float(eigenvalues.min()))
    n_rounds = min(math.ceil(math.log(1.0 / params["shrink"]) / slowest), MOST_ROUNDS)
    found = run_fed_regression(
        data=clients.data,
        start=start_models(params, clients, rng),
        update="fedavg",
        step_size=eta,
        n_rounds=n_rounds,
        spectra=spectra,
        reference=clients.theta_star,
    )
    assert found.distances is not None
    wrong = float(np.mean(found.labels != clients.labels))
    return float(found.distances[0]), float(found.distances[-1]), float(known), wrong, n_rounds


def trial_cost(params: Params) -> float:
    """CPU seconds of a trial, measured: draws, the matrices K_j, and the rounds."""
    rows, d = params["M"] * params["n"], params["d"]
    return float(2e-8 * rows * d + 2.5e-10 * rows * d**2 + 2e-6 * params["k"] * d**2)


LARGE = add_experiment(
    name="sxy.large",
    design=249,
    columns=("start", "end", "known", "wrong", "rounds"),
    simulate=each_trial(_one_large_trial),
    parameters=Parameters(
        {
            **CLIENTS.entries,
            "gamma": Real(
                0.0, 0.999, open_low=True, default=0.9,
                meaning="step in units of the largest curvature",
            ),
            "near": Real(0.0, 0.5, default=0.1, meaning="distance of the start over Delta"),
            "start": Options(STARTS, default="adversarial", meaning="direction of the start"),
            "shrink": Real(
                1e-12, 1.0, default=1e-3, meaning="what the slowest direction shrinks by"
            ),
        },
        (
            large_data_fit, spectrum_ordered, enough_clients, shares_have_the_ratio,
            start_has_a_direction,
        ),
    ),
    block_size=1,
    cost=trial_cost,
)  # fmt: skip
