r"""The k-means family, batched over trials: Lloyd, k-means++, spectral k-means.

Problem (Armacki, Bajovic, Jakovetic & Kar 2024, eq. (15), without the factor 1/2, as in the rest of
the literature and in scikit-learn's ``inertia_``):

.. math:: \min_{x_1, \dots, x_k} \sum_{i=1}^m \min_{j \le k} \|a_i - x_j\|^2 .

Algorithms and their sources

* `lloyd` -- Lloyd's iteration (Part III of Algorithm 2, Step II of Algorithm 3).
* `seed_kmeans_pp`, `kmeans_pp` -- Algorithm 3 of the paper, i.e. Arthur & Vassilvitskii (2007).
* `approximate_kmeans` -- an approximation algorithm with a stated factor, proved in its module.
* `spectral_part_one`, `spectral_kmeans` -- Algorithm 2 of the paper, after Awasthi & Sheffet
  (2012): SVD projection, approximation algorithm, core points, Lloyd.  Part I alone is the
  algorithm of Theorem 3.

Conventions
-----------
Arrays are ``(B, m, d)``: B independent data sets of m points in R^d, all in one jitted call.
Distances are computed as sums of squared differences.  So data far from the origin lose no digits.
In large cases the expansion |a|^2 - 2 a.x + |x|^2 proposes labels.  A proposal is taken where its
error bound proves it (`trials.clustering.kmeans.assignment`), so the labels are the same.  Ties go
to the lowest cluster index.  Results are float64, labels int64.  One iteration costs O(m k d) a
data set.
"""

from trials.clustering.kmeans.approximation import STATED_FACTOR, Approximation, approximate_kmeans
from trials.clustering.kmeans.assignment import assign, transpose
from trials.clustering.kmeans.iteration import EmptyPolicy, KMeansFit, lloyd
from trials.clustering.kmeans.seeding import kmeans_pp, seed_kmeans_pp
from trials.clustering.kmeans.spectral import (
    SpectralFit,
    spectral_kmeans,
    spectral_part_one,
    spectral_projection,
)

__all__ = [
    "STATED_FACTOR",
    "Approximation",
    "EmptyPolicy",
    "KMeansFit",
    "SpectralFit",
    "approximate_kmeans",
    "assign",
    "kmeans_pp",
    "lloyd",
    "seed_kmeans_pp",
    "spectral_kmeans",
    "spectral_part_one",
    "spectral_projection",
    "transpose",
]
