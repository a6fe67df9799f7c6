"""The methods that ship, by the names of the command line.

Each is an estimator of `verify.estimators` with some options fixed.  The constructor gets the
number of clusters that the federation tells, the loss of its responses, and a seed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray, InvalidParameter


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a method is told of a federation.  Only oracles look at ``labels`` and ``models``."""

    k: int
    response: str
    seed: int
    labels: IntArray | None = None
    models: FloatArray | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A shipped method.

    ``estimator`` is a class of `verify.estimators`, ``fixed`` its options that make the method, and
    ``oracle`` tells that it is given the true clusters, and ``near`` that it starts at the true
    models, each moved in a random direction by this share of their least distance.
    """

    title: str
    estimator: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    oracle: bool = False
    near: float | None = None


SHIPPED: dict[str, Entry] = {
    "local": Entry(title="a model for each client", estimator="LocalModels"),
    "global": Entry(title="one model for all clients", estimator="GlobalModel"),
    "oracle": Entry(
        title="one model for each true cluster", estimator="ClusterOracle", oracle=True
    ),
    "oracle-average": Entry(
        title="mean of the local models of each true cluster",
        estimator="OracleAverage",
        oracle=True,
    ),
    "ifca": Entry(title="IFCA, model averaging, one random start", estimator="IFCA"),
    "ifca-10": Entry(title="IFCA, the best of ten starts", estimator="IFCA", fixed={"n_init": 10}),
    "ifca-near": Entry(
        title="one step of IFCA from near the true models, as its Theorem 1 has it",
        estimator="IFCA",
        # 2 c1 = 2/3 in the theorem's unit, where the loss is the whole square
        fixed={"n_rounds": 1, "step_size": 2 / 3},
        oracle=True,
        near=0.24,
    ),
    "odcl-km": Entry(
        title="one shot: local models, k-means++",
        estimator="OneShotClustering",
        fixed={"clusterer": "k-means++"},
    ),
    "odcl-km-10": Entry(
        title="the same, the best of ten seedings, which send nothing",
        estimator="OneShotClustering",
        fixed={"clusterer": "k-means++", "options": {"n_init": 10}},
    ),
    "odcl-spectral": Entry(
        title="one shot: local models, spectral k-means",
        estimator="OneShotClustering",
        fixed={"clusterer": "spectral"},
    ),
    "odcl-cc": Entry(
        title="one shot: local models, convex clustering",
        estimator="OneShotClustering",
        fixed={"clusterer": "convex"},
    ),
    "odcl-sparse": Entry(
        title="one shot: local models, convex clustering of neighbours",
        estimator="OneShotClustering",
        fixed={"clusterer": "sparse-convex"},
    ),
    "odcl-gradient": Entry(
        title="one shot: local models, gradient clustering",
        estimator="OneShotClustering",
        fixed={"clusterer": "gradient"},
    ),
    "odcl-ifca": Entry(
        title="one shot with k-means++, then ten rounds within the clusters",
        estimator="OneShotClustering",
        fixed={"clusterer": "k-means++", "n_rounds": 10},
    ),
    "fedavg": Entry(
        title="one model, 100 rounds of FedAvg",
        estimator="GlobalModel",
        fixed={"algorithm": "fedavg"},
    ),
    "fedprox": Entry(
        title="one model, 100 rounds of FedProx",
        estimator="GlobalModel",
        fixed={"algorithm": "fedprox"},
    ),
    "fedx": Entry(
        title="FedAvg within the clusters that clients choose, one random start",
        estimator="FederatedRegression",
    ),
    "global-round": Entry(
        title="moment descent, then FedAvg within the clusters", estimator="GlobalRound"
    ),
    "cfl": Entry(title="CFL, recursive bipartition, finds the number itself", estimator="CFL"),
    "fesem": Entry(title="FeSEM, EM on the distance of parameters", estimator="FeSEM"),
    "k-fed": Entry(title="k-FED, one shot, farthest-first seeds", estimator="KFed"),
    "am": Entry(title="alternating minimisation, spectral start", estimator="GroupedMixture"),
    "em": Entry(title="EM, spectral start", estimator="GroupedMixture", fixed={"algorithm": "em"}),
    "pacfl": Entry(title="PACFL, principal angles of the features", estimator="PACFL"),
}


def shipped(name: str, options: Mapping[str, Any], context: Context) -> Any:
    """The estimator of a shipped method.

    Raises
    ------
    InvalidParameter : an option that it does not have, or an oracle without known clusters.
    """
    entry = SHIPPED[name]
    require_possible(
        name,
        options,
        context.response,
        clusters_known=context.labels is not None,
        n_models=_n_models(context),
        k=context.k,
    )
    make, known = _estimators()[entry.estimator], _parameters(entry.estimator)
    told = {
        "n_clusters": context.k,
        "loss": {"linear": "squared", "logistic": "logistic"}[context.response],
        "random_state": context.seed,
    }
    if entry.oracle:
        told["labels"] = context.labels
    if entry.near is not None:
        told["init"] = near_start(name, entry.near, context)
    given = {key: value for key, value in told.items() if key in known}
    method = make(**{**given, **entry.fixed, **options})
    method._warns = False  # the table shows what it reached in its rounds
    return method


def _n_models(context: Context) -> int:
    """The number of clusters whose true models are known."""
    if context.models is None or context.labels is None:
        return 0
    return int(context.labels.max()) + 1


def require_possible(
    name: str,
    options: Iterable[str],
    response: str,
    *,
    clusters_known: bool,
    n_models: int,
    k: int,
) -> None:
    """Refuse a shipped method every fit of which would fail.

    ``n_models`` is the number of clusters whose true models are known, and ``k`` the number of
    clusters that the method is told.

    Raises
    ------
    InvalidParameter : an option that it does not have, a loss that it does not have, an oracle
        without known clusters, or a start near true models that are not known or too few.
    """
    entry = SHIPPED[name]
    _estimators()  # without scikit-learn there is none
    known = _parameters(entry.estimator)
    unknown = sorted(set(options) - known)
    if unknown:
        raise InvalidParameter(
            f"method {name} has no option {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    if response == "logistic" and "loss" not in known:
        raise InvalidParameter(
            f"method {name} has the squared loss only; these responses are classes"
        )
    if entry.oracle and not clusters_known:
        raise InvalidParameter(f"method {name} needs known clusters; this federation has none")
    if entry.near is not None and min(n_models, k) < 2:
        raise InvalidParameter(f"method {name} needs two known clusters and their models")
    if entry.near is not None and k > n_models:
        raise InvalidParameter(
            f"method {name} is told {k} clusters, and {n_models} have a true model to start near"
        )


def near_start(name: str, share: float, context: Context) -> FloatArray:
    """(k, d) true models, each moved by ``share`` of the least distance of two of them.

    Raises
    ------
    InvalidParameter : a federation without known models, or with one cluster.
    """
    if context.models is None or context.labels is None or context.labels.max() < 1:
        raise InvalidParameter(f"method {name} needs two known clusters and their models")
    found = np.array([context.models[context.labels == j][0] for j in range(context.k)])
    apart = np.linalg.norm(found[:, None] - found, axis=2)
    least = apart[~np.eye(len(found), dtype=bool)].min()
    moved = np.random.default_rng(context.seed).standard_normal(found.shape)
    return np.asarray(found + share * least * moved / np.linalg.norm(moved, axis=1, keepdims=True))


@cache
def _parameters(estimator: str) -> frozenset[str]:
    """The names of a constructor's parameters."""
    return frozenset(inspect.signature(_estimators()[estimator]).parameters)


@cache
def _estimators() -> dict[str, Any]:
    """The classes by their names.

    Their modules are imported one by one.  The package's own names are computed when they are asked
    for, and code that imports by a computed name counts as depending on the whole program: every
    change anywhere would then make stored fits those of other code.
    """
    try:
        from verify.estimators.baselines import (
            ClusterOracle,
            GlobalModel,
            LocalModels,
            OracleAverage,
        )
        from verify.estimators.ifca import IFCA
        from verify.estimators.mixed_regression import FederatedRegression, GlobalRound
        from verify.estimators.one_shot import OneShotClustering
        from verify.estimators.others import CFL, PACFL, FeSEM, GroupedMixture, KFed
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise InvalidParameter(
            "the methods that ship need scikit-learn: pip install 'cfl-verify[sklearn]'"
        ) from None
    made = (
        *(ClusterOracle, GlobalModel, LocalModels, OracleAverage, IFCA, OneShotClustering),
        *(FederatedRegression, GlobalRound, CFL, PACFL, FeSEM, GroupedMixture, KFed),
    )
    return {estimator.__name__: estimator for estimator in made}
