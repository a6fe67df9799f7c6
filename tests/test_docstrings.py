"""The examples in the docstrings of the public packages run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = ("bounds", "trials", "verify", "reports")


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
    assert {
        "trials.clustering.convex.api.convex_clustering",
        "trials.clustering.convex.path.convex_clustering_path",
        "trials.clustering.kmeans.iteration.lloyd",
        "trials.clustering.kmeans.seeding.kmeans_pp",
        "trials.clustering.kmeans.spectral.spectral_kmeans",
        "trials.local_erm.squares.least_squares",
        "trials.ifca.linear.run_ifca",
        "trials.ifca.one_shot.run_one_shot",
        "trials.ifca.options.run_ifca_options",
        "trials.laws.pairwise.misidentification_probability",
        "trials.laws.step.simulate_trajectories",
        "trials.laws.wishart.label_counts",
        "trials.mixed_regression.fed_regression.run_fed_regression",
        "trials.mixed_regression.moment_descent.run_moment_descent",
        "trials.models.federated_data.FederatedModel",
    } <= found
