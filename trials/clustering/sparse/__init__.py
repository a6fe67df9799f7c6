"""Convex clustering with sparse weights (Armacki et al. 2024, Remark 23), with certificates.

* `neighbour_weights` -- graph of nearest neighbours with Gaussian weights, optionally connected.
* `sparse_convex_clustering` -- one penalty, solved to the accuracy that proves its partition.
* `sparse_convex_clustering_path` -- many penalties, each from the last, with duality gaps.
* `fusing_penalty` -- a penalty at which a path can end.
* `check_sparse_certificate` -- the independent verifier.

`trials.clustering.sparse.estimators` has the estimators of scikit-learn, and
`trials.clustering.sparse.plots` draws paths and dendrograms.
"""

from trials.clustering.sparse.api import (
    fusing_penalty,
    sparse_convex_clustering,
    sparse_convex_clustering_path,
)
from trials.clustering.sparse.certificate import SparseCheck, check_sparse_certificate
from trials.clustering.sparse.graph import neighbour_weights
from trials.clustering.sparse.record import SparseClustering, SparsePath

__all__ = [
    "SparseCheck",
    "SparseClustering",
    "SparsePath",
    "check_sparse_certificate",
    "fusing_penalty",
    "neighbour_weights",
    "sparse_convex_clustering",
    "sparse_convex_clustering_path",
]
