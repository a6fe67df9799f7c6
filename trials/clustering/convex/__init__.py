"""Convex clustering (Armacki et al. 2024, (12)) with certificates, and its path as a tree.

* `convex_clustering` -- one problem, equal or given pair weights.
* `convex_clustering_path` -- all penalties at once, equal weights: breakpoints, tree, solutions.
* `check_certificate`, `check_weighted_certificate` -- the independent verifiers, plain NumPy.
"""

from trials.clustering.convex.api import convex_clustering, convex_clustering_labels
from trials.clustering.convex.certificate import (
    Certificate,
    CertificateCheck,
    Fusion,
    check_certificate,
)
from trials.clustering.convex.path import ClusterPath, Merge, convex_clustering_path
from trials.clustering.convex.problem import ConvexClustering
from trials.clustering.convex.weighted_certificate import check_weighted_certificate

__all__ = [
    "Certificate",
    "CertificateCheck",
    "ClusterPath",
    "ConvexClustering",
    "Fusion",
    "Merge",
    "check_certificate",
    "check_weighted_certificate",
    "convex_clustering",
    "convex_clustering_labels",
    "convex_clustering_path",
]
