"""The data of federated clients: rows one below the other, and who owns which."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from trials.checks import (
    WHOLE_IN_FLOAT,
    FloatArray,
    IntArray,
    InvalidParameter,
    real_array,
    require_finite,
    whole_array,
)
from trials.models.run_status import DIVERGENCE_BOUND
from trials.parameters import Array, Integer, validated


class ClientArrays(NamedTuple):
    """The arrays of `ClientData` in the form that kernels take.

    Attributes
    ----------
    features : (N, d) float64, C-contiguous.
    responses : (N,) float64.
    offsets : (m + 1,) int64.  Client i owns the rows ``offsets[i]:offsets[i + 1]``.
    """

    features: FloatArray
    responses: FloatArray
    offsets: IntArray


@dataclass(frozen=True, kw_only=True)
class KnownClusters:
    """What a simulation knows of its clients, and no server sees.

    Attributes
    ----------
    labels : (M,) true clusters.
    theta_star : (k, d) optima.
    sizes : (M,) rows of each client.
    """

    labels: IntArray
    theta_star: FloatArray
    sizes: IntArray

    @property
    def cluster_rows(self) -> FloatArray:
        """(k,) rows N_j of the clusters."""
        rows = np.bincount(self.labels, weights=self.sizes, minlength=len(self.theta_star))
        return np.asarray(rows)


@dataclass(frozen=True, kw_only=True)
class ClientData:
    """The data of m clients, one below the other without padding.

    Parameters
    ----------
    features : (N, d) array of finite floats.
    responses : (N,) array of finite floats, in any unit in which their squares neither vanish nor
        overflow.  Models have this unit over that of the features.
    offsets : (m + 1,) increasing integers from 0 to N.  Client i has the rows
        ``offsets[i]:offsets[i + 1]``, at least one.

    Raises
    ------
    InvalidParameter : a shape, an offset or a value outside this domain.

    Examples
    --------
    >>> import numpy as np
    >>> data = ClientData(
    ...     features=np.ones((5, 2)), responses=np.zeros(5), offsets=np.array([0, 2, 5])
    ... )
    >>> data.n_clients
    2
    """

    features: FloatArray
    responses: FloatArray
    offsets: IntArray

    def __post_init__(self) -> None:
        features = real_array("features", self.features)
        responses = real_array("responses", self.responses)
        offsets = whole_array("offsets", self.offsets, 0, WHOLE_IN_FLOAT)
        if features.ndim != 2 or features.shape[1] < 1:
            raise InvalidParameter(f"features.shape={features.shape} must be (N, d) with d >= 1")
        if responses.shape != features.shape[:1]:
            raise InvalidParameter(
                f"responses.shape={responses.shape} must be ({features.shape[0]},), "
                "one response a row of features"
            )
        if offsets.ndim != 1 or offsets.size < 2:
            raise InvalidParameter(f"offsets of shape {offsets.shape} must be m + 1 >= 2 integers")
        if offsets[0] != 0 or offsets[-1] != len(features) or (np.diff(offsets) < 1).any():
            raise InvalidParameter(
                f"offsets={offsets} must increase from 0 to {len(features)}, "
                "so that every client has a row"
            )
        require_finite("features", features)
        require_finite("responses", responses)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "responses", responses)
        object.__setattr__(self, "offsets", offsets)

    @classmethod
    def equal(cls, features: FloatArray, responses: FloatArray) -> ClientData:
        """Clients of one size n from ``features`` (m, n, d) and ``responses`` (m, n)."""
        features = real_array("features", features)
        responses = real_array("responses", responses)
        if features.ndim != 3 or min(features.shape) < 1 or responses.shape != features.shape[:2]:
            raise InvalidParameter(
                f"features.shape={features.shape} must be (m, n, d), none of them 0, and "
                f"responses.shape={responses.shape} must be (m, n)"
            )
        m, n, d = features.shape
        return cls(
            features=features.reshape(m * n, d),
            responses=responses.reshape(m * n),
            offsets=np.arange(m + 1, dtype=np.int64) * n,
        )

    @property
    def arrays(self) -> ClientArrays:
        """The same arrays, not copied, in the form that kernels take."""
        return ClientArrays(self.features, self.responses, self.offsets)

    @property
    def n_clients(self) -> int:
        """Number m of clients."""
        return len(self.offsets) - 1

    @property
    def dimension(self) -> int:
        """Number d of features."""
        return int(self.features.shape[1])

    @cached_property
    def model_unit(self) -> float:
        """Root mean square of the responses over that of the rows' norms: the unit of models.

        It is 1 where one of them is zero, or has squares beyond the range of floats.
        """
        with np.errstate(over="ignore"):
            x, y = np.linalg.norm(self.features), np.linalg.norm(self.responses)
        return float(y / x) if 0.0 < x < np.inf and 0.0 < y < np.inf else 1.0

    @property
    def divergence_bound(self) -> float:
        """The norm above which a model has diverged: 1e12 in its unit, at least 1e12."""
        return DIVERGENCE_BOUND * max(1.0, self.model_unit)


@validated(offsets=Array(("m + 1",), whole=True, low=0, high=WHOLE_IN_FLOAT), rows=Integer(0))
def client_groups(offsets: IntArray, rows: int) -> IntArray:
    """Cut the clients into consecutive groups of at most `rows` rows, or of one larger client.

    Returns the (g + 1,) client numbers at which groups begin, the last of them m.
    """
    cuts = [0]
    while cuts[-1] < len(offsets) - 1:
        reach = int(np.searchsorted(offsets, offsets[cuts[-1]] + rows, side="right")) - 1
        cuts.append(max(reach, cuts[-1] + 1))
    return np.asarray(cuts, dtype=np.int64)
