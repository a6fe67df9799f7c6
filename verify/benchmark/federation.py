r"""Federations: drawn clients with known truth, declared by one table of parameters.

Client i belongs to a cluster and holds n_i rows.  Linear responses are
:math:`y=\langle x,\theta^*\rangle+\sigma e`.  Logistic responses are :math:`y=\pm1` with
:math:`P(y=1\mid x)=1/(1+e^{-\langle x,\theta^*\rangle})`.  Every client also has
``held_out`` rows of its own law, which no method sees.  They measure the loss.

Three departures from the mixture are part of the table.  An *outlier* has a model of its own.  A
client that *drifts* has the first half of its rows from another cluster.  With *label skew* s a
client prefers one class: rows of its other class are kept with probability 1 - s.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter
from trials.models.federated_data import Law, client_sizes, covariance_roots
from trials.models.mixture import cluster_sizes, gaussian_vectors, line, random_centres, simplex
from trials.parameters import Integer, ListOf, Options, Parameters, Real

RESPONSES = ("linear", "logistic")
FEATURES = ("gaussian", "elliptical", "heavy", "sparse", "rademacher", "uniform")
MAX_NUMBERS = 1 << 28
NOISES = ("gaussian", "heavy", "laplace", "rademacher", "uniform")


@dataclass(frozen=True, kw_only=True, eq=False)
class Federation:
    """The clients of one trial: rows to fit, rows to judge by, and the truth where it is known.

    Attributes
    ----------
    features, responses, clients : (N, d), (N,), (N,) rows to fit, those of a client together, in
        their order in time.
    test_features, test_responses, test_clients : held-out rows in the same form.
    response : ``linear`` or ``logistic`` (responses -1 and 1).
    k : number of clusters that the methods are told.
    labels : (m,) true clusters, -1 for a client without one, or None where they are unknown.
    models : (m, d) true model of every client, or None.
    """

    features: FloatArray
    responses: FloatArray
    clients: IntArray
    test_features: FloatArray
    test_responses: FloatArray
    test_clients: IntArray
    response: str
    k: int
    labels: IntArray | None = None
    models: FloatArray | None = None

    @property
    def n_clients(self) -> int:
        """The number m of clients."""
        return int(self.clients[-1]) + 1


def _layout(cell: Mapping[str, Any]) -> str:
    """simplex where d >= k - 1, else random."""
    return "simplex" if cell["d"] >= cell["k"] - 1 else "random"


def _k_told(cell: Mapping[str, Any]) -> int:
    """k"""
    return int(cell["k"])


def one_entry_a_cluster(cell: Mapping[str, Any]) -> None:
    """Shares and noise levels are k numbers each."""
    for name in ("shares", "noises"):
        if name in cell and len(cell[name]) != cell["k"]:
            raise InvalidParameter(
                f"{name} has {len(cell[name])} numbers: it must have {cell['k']}, one a cluster"
            )


def one_size_a_client(cell: Mapping[str, Any]) -> None:
    """A list of sizes has m numbers."""
    if "row_counts" in cell and len(cell["row_counts"]) != cell["m"]:
        raise InvalidParameter(
            f"row_counts has {len(cell['row_counts'])} numbers: it must have {cell['m']}, one a "
            "client"
        )


def enough_clients(cell: Mapping[str, Any]) -> None:
    """k <= m, with at least one client that is no outlier in every cluster."""
    regular = cell["m"] - round(cell["outliers"] * cell["m"])
    if cell["k"] > regular:
        raise InvalidParameter(
            f"{cell['k']} clusters need as many clients that are no outliers: there are {regular}"
        )


def layout_is_possible(cell: Mapping[str, Any]) -> None:
    """Equidistant models need d >= k - 1, and a close pair needs k >= 2."""
    if cell["layout"] == "simplex" and cell["d"] < cell["k"] - 1:
        raise InvalidParameter(
            f"layout=simplex of {cell['k']} clusters needs {cell['k'] - 1} features, and there are "
            f"{cell['d']}: take layout=random"
        )
    if cell["layout"] == "close-pair" and cell["k"] < 2:
        raise InvalidParameter("layout=close-pair needs two clusters")


def fits_into_memory(cell: Mapping[str, Any]) -> None:
    """The rows of a trial fit into 2 GiB."""
    fitted = sum(cell["row_counts"]) if "row_counts" in cell else cell["m"] * cell["n"]
    wanted = (fitted + cell["m"] * cell["held_out"]) * cell["d"]
    if wanted > MAX_NUMBERS:
        raise InvalidParameter(
            f"clients (samples + held_out) features = {wanted:,} numbers in a trial must be <= "
            f"{MAX_NUMBERS:,} (2 GiB)"
        )


FEDERATION = Parameters(
    {
        "response": Options(RESPONSES, default="linear", meaning="law of the responses"),
        "m": Integer(2, 10**6, default=40, meaning="clients"),
        "n": Integer(1, 10**7, default=50, meaning="mean number of rows of a client"),
        "d": Integer(1, 10**4, default=10, meaning="features"),
        "k": Integer(1, 1000, default=2, meaning="clusters"),
        "k_told": Integer(1, 1000, default=_k_told, meaning="clusters that the methods are told"),
        "separation": Real(
            0.0, 1e6, open_low=True, default=1.0, meaning="least distance of two models"
        ),
        "layout": Options(
            ("simplex", "random", "close-pair"), default=_layout, meaning="where the models lie"
        ),
        "shares": ListOf(
            Real(0.0, 1.0, open_low=True), default=None, meaning="shares of the clusters"
        ),
        "sizes": Options(
            ("balanced", "zipf", "lognormal"), default="balanced", meaning="law of the sizes n_i"
        ),
        "size_spread": Real(0.0, 50.0, default=1.0, meaning="exponent or deviation of the sizes"),
        "row_counts": ListOf(Integer(1, 10**7), default=None, meaning="the sizes n_i themselves"),
        "sigma": Real(0.0, 1e6, default=0.1, meaning="noise level"),
        "noises": ListOf(Real(0.0, 1e6), default=None, meaning="noise level of each cluster"),
        "noise_law": Options(NOISES, default="gaussian", meaning="law of the noise"),
        "features": Options(FEATURES, default="gaussian", meaning="law of the features"),
        "degrees": Real(
            2.0, 1e6, open_low=True, default=3.0, meaning="degrees of freedom of heavy tails"
        ),
        "density": Real(
            0.0, 1.0, open_low=True, default=0.1, meaning="share of non-zeros in sparse features"
        ),
        "condition": Real(
            1.0, 1e12, default=1.0, meaning="condition number of the clusters' covariances"
        ),
        "label_skew": Real(0.0, 0.99, default=0.0, meaning="how much a client prefers one class"),
        "outliers": Real(
            0.0, 0.5, default=0.0, meaning="share of clients with a model of their own"
        ),
        "drift": Real(0.0, 1.0, default=0.0, meaning="share of clients that changed their cluster"),
        "held_out": Integer(1, 10**5, default=10, meaning="rows of a client to judge by"),
    },
    (
        one_entry_a_cluster,
        one_size_a_client,
        enough_clients,
        layout_is_possible,
        fits_into_memory,
    ),
)


#: Parameter -> the word for it, which the command line knows as well.
WORDS = {"m": "clients", "n": "samples", "d": "features", "k": "clusters", "sigma": "noise"}
_PARAMETERS = {word: name for name, word in WORDS.items()}


def in_words(name: str) -> str:
    """A parameter as tables and messages name it."""
    return WORDS.get(name, name)


def place(vary: str, params: Mapping[str, Any], equals: str = " = ") -> str:
    """Which of several federations this is, empty where there is one."""
    return f"{in_words(vary)}{equals}{params[vary]}" if vary else ""


def parameter_of(word: str, values: Sequence[Any] = ()) -> str:
    """The parameter that a word of the command line names.

    ``features`` is their number, or their law where the values are texts.

    >>> parameter_of("clients"), parameter_of("features", [3]), parameter_of("features", ["heavy"])
    ('m', 'd', 'features')
    """
    if word == "features" and any(isinstance(value, str) for value in values):
        return word
    return _PARAMETERS.get(word, word)


def worded(message: str) -> str:
    """A refusal of `trials.parameters.Parameters` in the words of the command line.

    >>> worded("m=0 must be an integer in [2, 9]")
    'clients=0 must be an integer in [2, 9]'
    >>> worded("unknown parameter 'd'; known: k, n")
    "unknown parameter 'features'; known: clusters, samples"
    """
    unknown = re.fullmatch(r"unknown parameter '(.*)'; known: (.*)", message)
    if unknown:
        known = ", ".join(sorted(set(map(in_words, unknown[2].split(", ")))))
        return f"unknown parameter {in_words(unknown[1])!r}; known: {known}"
    name, equals, rest = message.partition("=")
    return in_words(name) + equals + rest


def without_derived(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell without the entries that follow from others, so that they follow a changed one.

    >>> without_derived({"k": 3, "k_told": 3, "d": 1, "layout": "simplex"})
    {'k': 3, 'd': 1, 'layout': 'simplex'}
    """
    derived = {n: e.default for n, e in FEDERATION.entries.items() if callable(e.default)}
    return {n: v for n, v in cell.items() if n not in derived or derived[n](cell) != v}


def centres(cell: Mapping[str, Any], rng: np.random.Generator) -> FloatArray:
    """The true models (k, d), two of them at the distance ``separation`` and none closer.

    ``close-pair`` is a simplex of four times the separation whose first two models are moved
    together.  Models on a line (d = 1) lie at equal distances.
    """
    k, d, separation = cell["k"], cell["d"], cell["separation"]
    if k == 1:
        return np.asarray(random_centres(gaussian_vectors(rng, (1,), d), norm=separation))
    if cell["layout"] == "simplex":
        return np.asarray(simplex(k, d, separation))
    if d == 1 and k > 2:
        return np.asarray(line(k, 1, separation))
    if cell["layout"] == "random":
        return np.asarray(random_centres(gaussian_vectors(rng, (k,), d), Delta=separation))
    if d >= k - 1:
        found = np.array(simplex(k, d, 4.0 * separation))
    else:
        found = np.array(random_centres(gaussian_vectors(rng, (k,), d), Delta=4.0 * separation))
    gap = found[1] - found[0]
    found[1] = found[0] + gap * (separation / np.linalg.norm(gap))
    return found


def _sizes(cell: Mapping[str, Any], rng: np.random.Generator) -> IntArray:
    if "row_counts" in cell:
        return np.array(cell["row_counts"], dtype=np.int64)
    return np.asarray(
        client_sizes(cell["sizes"], cell["m"], float(cell["n"]), rng, spread=cell["size_spread"])
    )


def _true_labels(cell: Mapping[str, Any], rng: np.random.Generator) -> IntArray:
    """(m,) clusters in random order, -1 for the outliers."""
    m, k = cell["m"], cell["k"]
    n_outliers = round(cell["outliers"] * m)
    shares = np.array(cell["shares"]) if "shares" in cell else np.ones(k)
    counts = cluster_sizes(m - n_outliers, shares / shares.sum())
    labels = np.concatenate([np.repeat(np.arange(k), counts), np.full(n_outliers, -1)])
    return rng.permutation(labels).astype(np.int64)


class _Rows:
    """Draws rows of the federation: the laws of features and responses."""

    def __init__(self, cell: Mapping[str, Any], rng: np.random.Generator) -> None:
        self.cell, self.rng = cell, rng
        k, d = cell["k"], cell["d"]
        name = "gaussian" if cell["features"] == "elliptical" else cell["features"]
        shape = {"heavy": cell["degrees"], "sparse": cell["density"]}.get(name)
        self.features = Law(name=name, shape=shape)
        noise = cell["noise_law"]
        self.noise = Law(name=noise, shape=cell["degrees"] if noise == "heavy" else None)
        self.levels = np.array(cell.get("noises", [cell["sigma"]] * k), dtype=np.float64)
        low = cell["condition"] ** -0.5
        self.roots = (
            None if low == 1.0 else covariance_roots(k, d, low, 1.0 / low, rng, rotated=True)
        )

    def draw(self, owners: IntArray, table: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(N, d) features and (N,) responses of rows whose models are ``table[owners]``.

        Owners from k on are outliers.
        """
        cell, rng = self.cell, self.rng
        x = self.features.draw(rng, (owners.size, cell["d"]))
        if cell["features"] == "elliptical":
            nu = cell["degrees"]
            x *= np.sqrt((nu - 2.0) / rng.chisquare(nu, (owners.size, 1)))
        y = np.empty(owners.size)
        for j in np.unique(owners).tolist():
            rows = np.flatnonzero(owners == j)
            if self.roots is not None and j < cell["k"]:
                x[rows] = x[rows] @ self.roots[j]
            y[rows] = x[rows] @ table[j]
        if cell["response"] == "logistic":
            up = rng.random(owners.size) < 1.0 / (1.0 + np.exp(-np.clip(y, -700.0, 700.0)))
            return x, np.where(up, 1.0, -1.0)
        # the noise of an outlier is that of the first cluster
        levels = self.levels[np.where(owners < cell["k"], owners, 0)]
        return x, y + levels * self.noise.draw(rng, (owners.size,))

    def skewed(
        self, owners: IntArray, table: FloatArray, favoured: FloatArray, skew: float
    ) -> tuple[FloatArray, FloatArray]:
        """Rows of which those outside the favoured class are kept with probability 1 - skew.

        A row that is not kept is drawn again, and a kept one is not asked again.
        """
        x, y = self.draw(owners, table)
        asked = np.arange(y.size)
        while asked.size:
            other = y[asked] != favoured[asked]
            asked = asked[other & (self.rng.random(asked.size) < skew)]
            if asked.size:
                x[asked], y[asked] = self.draw(owners[asked], table)
        return x, y


def draw(cell: Mapping[str, Any], rng: np.random.Generator) -> Federation:
    """Draw one federation of a complete cell of `FEDERATION`.  O(N d), O(N d^2) with covariances.

    Examples
    --------
    >>> cell = FEDERATION.check({"m": 4, "n": 3, "d": 2})
    >>> found = draw(cell, np.random.default_rng(0))
    >>> found.features.shape, found.labels.size, found.test_responses.shape
    ((12, 2), 4, (40,))
    """
    m, d, k = cell["m"], cell["d"], cell["k"]
    theta = centres(cell, rng)
    sizes, labels = _sizes(cell, rng), _true_labels(cell, rng)
    strangers = np.flatnonzero(labels < 0)
    owner = labels.copy()  # of a client: its cluster, or from k on the outlier's own number
    owner[strangers] = k + np.arange(strangers.size)
    radius = max(float(np.linalg.norm(theta, axis=1).max()), cell["separation"])
    away = rng.standard_normal((strangers.size, d))
    away *= 2.0 * radius / np.linalg.norm(away, axis=1, keepdims=True)
    table = np.concatenate([theta, away])
    rows = _Rows(cell, rng)
    clients = np.repeat(np.arange(m), sizes)
    owners = owner[clients]
    _drift(cell, rng, labels, sizes, owners)
    skew = cell["label_skew"] if cell["response"] == "logistic" else 0.0
    favoured = np.where(rng.random(m) < 0.5, 1.0, -1.0)
    x, y = rows.skewed(owners, table, favoured[clients], skew)
    judged = np.repeat(np.arange(m), cell["held_out"])
    x_test, y_test = rows.skewed(owner[judged], table, favoured[judged], skew)
    return Federation(
        features=x,
        responses=y,
        clients=clients,
        test_features=x_test,
        test_responses=y_test,
        test_clients=judged,
        response=cell["response"],
        k=cell["k_told"],
        labels=labels,
        models=table[owner],
    )


def _drift(
    cell: Mapping[str, Any],
    rng: np.random.Generator,
    labels: IntArray,
    sizes: IntArray,
    owners: IntArray,
) -> None:
    """Give the first half of the rows of some clients to another cluster, in place."""
    regular = np.flatnonzero(labels >= 0)
    n_moved = math.floor(cell["drift"] * regular.size + 0.5)
    if n_moved == 0 or cell["k"] < 2:
        return
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for i in rng.permutation(regular)[:n_moved].tolist():
        before = (labels[i] + rng.integers(1, cell["k"])) % cell["k"]
        owners[starts[i] : starts[i] + sizes[i] // 2] = before
