"""Clustered federated learning as estimators of scikit-learn: ``fit(X, y, clients=...)``.

>>> from verify.estimators import LocalModels
>>> fit = LocalModels().fit([[1.0], [2.0], [1.0]], [2.0, 4.0, 5.0], clients=["a", "a", "b"])
>>> fit.models_.round(12).tolist(), fit.clients_.tolist()
([[2.0], [5.0]], ['a', 'b'])

They are thin drivers of the kernels in `trials`.  scikit-learn is an extra
(``pip install 'cfl-verify[sklearn]'``), so a module is loaded when one of its names is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.estimators.baselines import (
        ClusterOracle,
        GlobalModel,
        LocalModels,
        OracleAverage,
    )
    from verify.estimators.ifca import IFCA
    from verify.estimators.mixed_regression import (
        FederatedRegression,
        GlobalRound,
        MomentDescent,
    )
    from verify.estimators.one_shot import OneShotClustering
    from verify.estimators.others import CFL, PACFL, FeSEM, GroupedMixture, KFed
    from verify.estimators.splitting import WholeClients

_MODULES = {
    "CFL": "others",
    "ClusterOracle": "baselines",
    "FeSEM": "others",
    "FederatedRegression": "mixed_regression",
    "GlobalModel": "baselines",
    "GlobalRound": "mixed_regression",
    "GroupedMixture": "others",
    "IFCA": "ifca",
    "KFed": "others",
    "LocalModels": "baselines",
    "MomentDescent": "mixed_regression",
    "OneShotClustering": "one_shot",
    "OracleAverage": "baselines",
    "PACFL": "others",
    "WholeClients": "splitting",
}

__all__ = [
    "CFL",
    "IFCA",
    "PACFL",
    "ClusterOracle",
    "FeSEM",
    "FederatedRegression",
    "GlobalModel",
    "GlobalRound",
    "GroupedMixture",
    "KFed",
    "LocalModels",
    "MomentDescent",
    "OneShotClustering",
    "OracleAverage",
    "WholeClients",
]


def __getattr__(name: str) -> Any:
    """Load the module of an estimator."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sklearn":
            raise
        raise ImportError(
            "the estimators need scikit-learn: pip install 'cfl-verify[sklearn]'"
        ) from None
    return getattr(module, name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
