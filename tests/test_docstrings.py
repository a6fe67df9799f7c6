"""The examples in the docstrings of the public packages run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = ("bounds", "trials", "verify", "reports")

#: The main entry points: the functions of docs/kernels.md and the classes that they take.
MAIN = {
    "trials.clustering.convex.api.convex_clustering",
    "trials.clustering.convex.certificate.check_certificate",
    "trials.clustering.convex.path.convex_clustering_path",
    "trials.clustering.convex.weighted_certificate.check_weighted_certificate",
    "trials.clustering.gradient.gradient_clustering",
    "trials.clustering.kmeans.approximation.approximate_kmeans",
    "trials.clustering.kmeans.iteration.lloyd",
    "trials.clustering.kmeans.seeding.kmeans_pp",
    "trials.clustering.kmeans.spectral.spectral_kmeans",
    "trials.clustering.selection.choose_k",
    "trials.clustering.selection.clusterpath",
    "trials.clustering.selection.recovery_interval",
    "trials.clustering.sparse.api.sparse_convex_clustering",
    "trials.clustering.sparse.api.sparse_convex_clustering_path",
    "trials.clustering.sparse.certificate.check_sparse_certificate",
    "trials.clustering.sparse.graph.neighbour_weights",
    "trials.ifca.linear.run_ifca",
    "trials.ifca.linear.run_resampled_ifca",
    "trials.ifca.options.run_ifca_options",
    "trials.ifca.skipping.run_ifca_skipping",
    "trials.laws.pairwise.log_misidentification_probability",
    "trials.laws.step.simulate_trajectories",
    "trials.laws.wishart.label_counts",
    "trials.local_erm.descent.projected_sgd",
    "trials.local_erm.newton.logistic",
    "trials.local_erm.squares.least_squares",
    "trials.methods.cfl.run_cfl",
    "trials.methods.fesem.run_fesem",
    "trials.methods.grouped_mixture.run_grouped_mixture",
    "trials.methods.kfed.run_kfed",
    "trials.methods.pacfl.proximity",
    "trials.mixed_regression.anchor_groups.group_anchors",
    "trials.mixed_regression.batches.fresh_batches",
    "trials.mixed_regression.fed_regression.run_fed_regression",
    "trials.mixed_regression.moment_descent.run_moment_descent",
    "trials.mixed_regression.subspaces.krylov_bases",
    "trials.mixed_regression.subspaces.orthogonal_iteration",
    "trials.models.clients.ClientData",
    "trials.models.federated_data.FederatedModel",
    "trials.models.federated_data.client_sizes",
    "trials.models.losses.LogisticLoss",
    "trials.models.losses.SquaredLoss",
    "trials.models.matching.model_distance",
}


def modules() -> list[str]:
    """Names of all modules of the public packages, those that run a command line left out."""
    names = []
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        names += [package, *(m.name for m in pkgutil.walk_packages(path, f"{package}."))]
    return [name for name in names if not name.endswith("__main__")]


def examples(name: str) -> list[doctest.DocTest]:
    """The docstrings of a module that hold examples."""
    module, finder = importlib.import_module(name), doctest.DocTestFinder()
    found = {test.name: test for test in finder.find(module, name)}
    for key, thing in vars(module).items():  # the finder passes over checked and compiled functions
        inner = getattr(thing, "__wrapped__", getattr(thing, "py_func", None))
        if inner is not None and getattr(thing, "__module__", "") == name:
            found |= {test.name: test for test in finder.find(inner, f"{name}.{key}", module)}
    for test in found.values():
        test.globs = vars(module).copy()
    return [test for test in found.values() if test.examples]


def test_the_examples_of_every_docstring_print_what_they_say(capsys: pytest.CaptureFixture[str]):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, found = [], set()
    for name in modules():
        for test in examples(name):
            found.add(test.name)
            if doctest.DocTestRunner(optionflags=flags).run(test).failed:
                failed.append(test.name)
    assert not failed, capsys.readouterr().out
    assert not MAIN - found
