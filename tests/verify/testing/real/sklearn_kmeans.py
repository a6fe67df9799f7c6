"""scikit-learn's Lloyd iteration as ``kmeans``."""

import warnings

from sklearn.cluster import KMeans


def kmeans(points, centres):
    """One run from the given centres, until the labels repeat."""
    fit = KMeans(len(centres), init=centres, n_init=1, tol=0.0, max_iter=1000, algorithm="lloyd")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicates, which leave clusters empty
        fit.fit(points)
    return fit.cluster_centers_, fit.labels_


def assignment(points, centres):
    """The labels that a fit with these centres predicts."""
    fit = KMeans(len(centres), init=centres, n_init=1)
    fit._n_threads = 1
    fit.cluster_centers_ = centres
    return fit.predict(points)
