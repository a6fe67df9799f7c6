"""Every public driver of `trials` and `bounds` against arguments outside its domain.

The drivers are found by walking the packages.  Each is first called with good arguments, taken by
name from `GOOD`.  Then one or two of them are replaced by a value of the pool.  A call may return,
or raise `InvalidParameter` or `OutsideTheorem` in one line.  It must not raise anything else, take
longer than `LONGEST`, change an argument, or return NaN where all arguments are finite.

``CFL_FUZZ_CALLS`` (4,000) and ``CFL_FUZZ_SEED`` (0) set the number of calls and the seed.  A
failure prints the call.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import gc
import importlib
import inspect
import math
import os
import pkgutil
import signal
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pytest

from bounds.statement import OutsideTheorem
from tests.trials.networks.image_files import write_cifar10, write_mnist
from trials.checks import InvalidParameter
from trials.ifca.functions import Model
from trials.laws.step_tail import StepSetting
from trials.mixed_regression.batches import MomentBatch
from trials.mixed_regression.fed_regression import local_spectra
from trials.mixed_regression.moment_descent import DescentOptions
from trials.models.clients import ClientData
from trials.models.federated_data import Law
from trials.models.losses import SquaredLoss
from trials.models.mixture import Mixture

CALLS, SEED = (int(os.environ.get(f"CFL_FUZZ_{n}", d)) for n, d in (("CALLS", 4000), ("SEED", 0)))
LONGEST = 10  # CPU seconds of one call

#: Modules whose public functions are called only by other modules of their package, after checks.
INNER = (
    "trials.checks", "trials.parameters", "trials.jit_cache", "trials.sources", "trials.run",
    "trials.experiments", "trials.ifca.gradient_polynomials", "trials.ifca.settled",
    "trials.ifca.normal_matrices", "trials.ifca.work", "bounds.statement",
    "bounds.ifca", "bounds.sxy", "bounds.odcl",
    "trials.clustering", "trials.local_erm", "trials.text", "bounds.log_domain",
    "bounds.readable", "bounds.render", "bounds.shown", "trials.methods.updates",
    "trials.mixed_regression.gram_rounds",
    # networks of PyTorch and files of images: tests/trials/networks tries odd ones of every kind
    "trials.networks.architectures", "trials.networks.drawn", "trials.networks.federations",
    "trials.networks.femnist", "trials.networks.local_steps", "trials.networks.pickled",
    "trials.networks.training",
)  # fmt: skip
#: Functions of other modules that are no drivers.
NO_DRIVERS = {
    "kernel",  # the decorator of kernels
    "inner_kernel", "compile_inner",  # and those of kernels that only kernels call
    "check_batch", "draw_pair", "shared_coordinates", "check_bernoulli",
    # the numbers of floats, and cores of the pairwise law without checks, called in loops
    "floats_down", "floats_up", "pairwise_ratios", "pairwise_log_probabilities",
    # formulas of the bounded designs, called by their drivers and by claims
    "binomial_law", "cosh_optimum", "two_point_errors",
    # of runs that a simulation made, called in its loops
    "bottleneck_distances",
    # of distances that its callers have checked
    "last_axis_lengths",
    # of a tree of SciPy's
    "last_groups",
    # functions of a model that Algorithm 2 takes, called in its loops
    "tree_map", "random_network", "scores", "network_loss", "network_gradient", "accuracy",
}  # fmt: skip
#: NaN has a documented meaning: a certain tie, or a run that has left the range of floats.
NAN_MEANS = {"margin_from_products", "simulate_trajectories"}

R = np.random.default_rng(5)
CENTRES = np.array([[1.0, 0.0, 0.5], [-1.0, 0.5, 0.0]])
DATA = ClientData.equal(R.standard_normal((6, 4, 3)), R.standard_normal((6, 4)))
FIT = {"n": 6, "d": 3}


def draw_batch(_t):
    x = np.random.default_rng(1).standard_normal((5, 8, 3))
    return MomentBatch(
        first=x[0], second=x[1], first_y=x[0, :, 0], second_y=x[1, :, 1],
        anchor_features=x[2:4], anchor_responses=x[2:4, :, 2],
    )  # fmt: skip


_FOLDER = tempfile.TemporaryDirectory()  # removed at exit
IMAGES = Path(_FOLDER.name)
GREY, COLOURS = np.zeros((5, 2, 2)), np.zeros((5, 3072))
write_mnist(IMAGES, GREY, np.arange(5), GREY, np.arange(5))
write_cifar10(IMAGES, COLOURS, np.arange(5), COLOURS, np.arange(5))
DESCENT = DescentOptions(
    alpha=0.5, beta=1.0, threshold=0.1, n_rounds=2, subspace_iterations=2, power_iterations=2
)
#: Good arguments by name.  A name that belongs to one function alone is written "function.name".
GOOD = {
    "tangents": R.standard_normal((2, 2, 2)), "values": np.array([2.0, 1.5]), "n_draws": 2,
    "rounds": np.array([1.0, 2.0]), "images": R.standard_normal((2, 3)),
    "shares": np.array([0.5, 0.5]), "deviation_norm.weights": R.standard_normal(8),
    "target": np.ones(3), "population_descent.start": np.zeros(3), "lean": 0.1, "stretch": 1.0,
    "gap": 1.0, "eta": 0.5,
    "rng": np.random.default_rng(0), "n": 6, "d": 3, "N": 7, "k": 2, "m": 6, "sigma": 0.5,
    "n_trials": 2, "t": np.array([0.5, 2.0]), "u1_sq": np.array([1.0, 2.0]), "u12": 0.5,
    "u2_sq": 2.0, "s_sq": 0.25, "margins": np.array([0.5, -1.0]), "ties": 0.5,
    "distance": np.array([0.5, 1.0]), "n_samples": 5, "theta": CENTRES + 0.1,
    "theta_star": CENTRES, "cluster_sizes": np.array([3, 3]), "gamma": 0.5, "n_steps": 2,
    "n_fixed": None, "distances": np.array([[0.1, 1.0], [1.0, 0.2]]), "models": CENTRES,
    "run_ifca_skipping.excess": np.inf,
    "reference": CENTRES, "model_distance.models": CENTRES[None],
    "nearest_distance.models": CENTRES[None], "profile": "equal", "p_min": None, "ratio": 1.0,
    "fractions": np.array([0.4, 0.6]), "Delta": 1.0, "centered": True, "shape": (2,),
    "vectors": CENTRES, "norm": 1.0, "init": "random", "gaussian": CENTRES[::-1], "victim": -1,
    "alpha": 0.25, "directions": CENTRES[::-1],
    "mixture": Mixture(theta_star=CENTRES, cluster_sizes=np.array([3, 3]), sigma=0.1, n_samples=4),
    "start": "gaussian", "client_sizes.profile": "zipf", "n_clients": 4, "mean": 3.0,
    "spread": 1.0, "smallest": 1, "sizes": np.array([1, 2, 3]), "beta": 1.0, "rotated": True,
    "n_inputs": 2, "degree": 2, "inputs": CENTRES, "basis": "hermite", "law": Law(),
    "offsets": np.array([0, 2, 4]), "rows": 3, "loss": SquaredLoss(scale=2.0),
    "responses": np.array([1.0, -1.0, 1.0, -1.0]), "features": R.standard_normal((4, 3)),
    "data": DATA, "starts": CENTRES[None], "step_sizes": np.array([0.1]), "n_iterations": 2,
    "divergence_bound": 1e12, "draw": lambda t: (DATA, DATA), "options": None, "observe": None,
    "known_labels": np.array([0, 1, 0, 1, 0, 1]), "owner": np.array([0, 1, 0, 1, 0, 1]),
    "run_global.starts": CENTRES[:1], "local_steps": 2,
    "step_decay": 0.9, "batch_size": None, "n_init": 1, "n_participants": 3, "n_shared": 1,
    "settled": False, "update": "fedavg", "step_size": 0.1,
    "n_local_steps": 2, "temperature": 0.5, "prior": np.array([0.5, 0.5]), "n_rounds": 2,
    "label_rule": None, "run_fed_regression.start": CENTRES, "errors": CENTRES,
    "first": R.standard_normal((8, 3)), "second": R.standard_normal((8, 3)),
    "weights": R.standard_normal((2, 8)), "orthogonal_iteration.start": np.eye(3)[:, :2],
    "krylov_bases.start": np.eye(3)[:, :1], "tol": 0.0, "n_blocks": 2,
    "matrices": R.standard_normal((2, 2, 2)), "power_iteration.start": np.ones(2),
    "n_anchors": 2, "n_rows": 2, "anchors": np.array([0, 1]), "n_pairs": 1,
    "fresh_batches.n_rounds": 1, "fresh_batches.n_clients": 2,
    "run_moment_descent.draw": draw_batch, "run_moment_descent.start": np.zeros(3),
    "run_moment_descent.options": DESCENT, "targets": None, "u_a_sq": 1.0, "u_ab": 0.2,
    "u_b_sq": 2.0, "sigma_sq": 0.5, "dps": 20, "deviation": 0.5, "count": 2, "success": 0.6,
    "noise": 0.5, "dimension": 3, "level": 0.5, "bounds": 2.0,
    "chi_square_log_tail.n_samples": 5.0, "chi_square_log_above.n_samples": 5.0,
    "chi_square_log_above.x": 3.0, "binomial_log_cdf.n_trials": 9, 
    "setting": StepSetting(
        sizes=[3, 4], step_sizes=[0.5, 0.5], n_samples=50, dimension=3, separation=1.0, sigma=0.2
    ),
    "radius": 0.2, "cluster": 1, "bound": 0.3, "candidates": (-1.0, -2.0), "n_columns": 3,
    "log_cluster_tail.start": 0.2, "log_gradient_tail.distance": 0.5,
    "log_growth_tails.radii": np.array([0.1, 0.2, 0.4]),
    "model": Model(
        init=lambda rng: rng.standard_normal(3),
        loss=lambda theta, at: float(((theta - at) ** 2).mean()),
        gradient=lambda theta, at: theta - at,
    ),
    "clients": list(R.standard_normal((6, 3))), "run_ifca_functions.starts": list(CENTRES),
    "watch": None,
    # constructors
    "StepSetting.sizes": [3, 4], "StepSetting.step_sizes": [0.5, 0.5], "separation": 1.0,
    "Mixture.cluster_sizes": np.array([3, 3]), "Law.name": "heavy", "Law.shape": 3.0,
    "FederatedModel.features": Law(), "FederatedModel.noise": Law(),
    "FederatedModel.roots": None, "response": "linear", "Population.theta_star": CENTRES[0],
    "covariance": np.eye(3), "feature_kurtosis": 3.0, "noise_kurtosis": 3.0,
    "Population.gaussian": True, "l2": 0.5, "scale": 1.0, "averaging": "model", "shared": None,
    "stable_after": None, "ClientData.offsets": np.array([0, 1, 4]), "threshold": 0.1,
    "subspace_iterations": 2, "power_iterations": 2, "orient": True, "stopping": "final",
    "krylov_blocks": 0, "DescentOptions.alpha": 0.5,
    "design": "cosh", "bounds.d": 1, "moments.d": 1, "skew": 0.3, "optimum": 1.0, "q": 2,
    "times": np.array([2, 5]), "grams": np.stack([np.eye(3)] * 2), "moments": CENTRES,
    "optima": CENTRES, "quadratic_rounds.start": CENTRES + 0.1, "step": 0.1, "goal": 0.0,
    "least": 0,
    "path": str(IMAGES / "train-labels-idx1-ubyte"), "folder": str(IMAGES),
    "found": np.array([1, 1, 0]), "overlaps.labels": np.array([0, 0, 1]),
    "prefix": "", "classes": 10,
    # methods of other papers
    "epsilon_1": 0.1, "epsilon_2": 0.4, "first_split": 0, "min_size": 3, "linkage": "single",
    "gamma_max": None, "run_cfl.weights": "clients", "run_fesem.weights": "clients",
    "seeds": None, "moment": "pairs", "whiten": True, "algorithm": "am", "stop": True,
    "run_grouped_mixture.start": CENTRES, "local_centers": [CENTRES, CENTRES + 0.1],
    "run_kfed.first": None, "run_kfed.weights": None, "k_local": 2,
    "points": R.standard_normal((8, 3)),
    "p": 2, "measure": "sum", "method": "average", "pacfl_clusters.beta": None,
}  # fmt: skip

#: Good arguments that kernels compute.  None is compiled while tests are collected.
COMPUTED = {"spectra": cache(lambda: local_spectra(DATA))}

LONG = ("n_iterations", "n_steps", "n_rounds", "n_local_steps", "local_steps", "n_init",
        "power_iterations", "subspace_iterations", "n_trials")  # fmt: skip


def nothing(*_arguments, **_named):
    """A function that returns no result, for arguments that must be functions."""


def pool(good):
    """Bad and odd values in the place of a good one."""
    yield from (
        None, True, "x", "1", b"1", math.nan, math.inf, -math.inf, -1, 0, 1, 0.5, -0.0, 2.5, 3.0,
        1e308, -1e308, 1e-308, 5e-324, 1e150, 1e-150, 2**53, 2**63, 10**400, 1j, [], {}, (),
        object(), np.float32(0.5), np.int8(1), np.array([]), np.array(["a"]), np.full(3, np.nan),
        np.zeros((2, 2, 2, 2)), np.array([None, 1.0]), [[1.0], [1.0, 2.0]], DATA, nothing,
    )  # fmt: skip
    if isinstance(good, np.ndarray):
        for factor in (0.0, -1.0, 1e-320, 1e-200, 1e-100, 1e100, 1e200, 1e305):
            yield good * factor
        for entry in (np.nan, np.inf, 1e308, -1e308):
            changed = np.array(good, dtype=float)
            changed.flat[0] = entry
            yield changed
        yield good[..., :1]
        yield good[:0]
        yield good[None]
        yield np.asfortranarray(good)
        yield good.tolist()
        yield good.astype(complex)
        yield good.astype(str)
        frozen = good.copy()
        frozen.setflags(write=False)
        yield frozen


def drivers():
    """(name, function) of every public driver and every record that checks its fields."""
    found = {}
    for top in ("bounds", "trials"):
        package = importlib.import_module(top)
        for info in pkgutil.walk_packages(package.__path__, f"{top}."):
            if any(info.name == n or info.name.startswith(n + ".") for n in INNER):
                continue
            for name, thing in vars(importlib.import_module(info.name)).items():
                if name.startswith("_") or getattr(thing, "__module__", "") != info.name:
                    continue
                if isinstance(thing, numba.core.registry.CPUDispatcher) or name in NO_DRIVERS:
                    continue
                record = dataclasses.is_dataclass(thing) and hasattr(thing, "__post_init__")
                if inspect.isfunction(thing) or record:
                    found[f"{info.name}.{name}"] = thing
    return found


DRIVERS = drivers()


def good_arguments(name, function):
    short = name.rsplit(".", 1)[1]

    def good(p):
        if p in COMPUTED:
            return copy.deepcopy(COMPUTED[p]())
        value = GOOD[f"{short}.{p}"] if f"{short}.{p}" in GOOD else GOOD[p]
        return value if callable(value) else copy.deepcopy(value)

    return {p: good(p) for p in inspect.signature(function).parameters}


def leaves(value):
    """Every number and array inside a value."""
    if isinstance(value, np.ndarray) or np.isscalar(value):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from leaves(entry)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))


def has_nan(value):
    for leaf in leaves(value):
        array = np.asarray(leaf)
        if array.dtype.kind in "fc" and np.isnan(array).any():
            return True
    return False


def all_finite(value):
    for leaf in leaves(value):
        array = np.asarray(leaf)
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            return False
    return True


def same(value, other):
    """Whether an argument is still what it was."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return len(value) == len(other)
        return value.dtype == other.dtype and value.tobytes() == other.tobytes()
    mine, theirs = list(leaves(value)), list(leaves(other))
    return len(mine) == len(theirs) and all(
        np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(mine, theirs, strict=True)
        if not isinstance(a, str | bytes)
    )


@contextlib.contextmanager
def limited(seconds):
    def late(*_):
        raise TimeoutError(f"longer than {seconds} CPU seconds")

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def fault(name, function, arguments):
    """The fault of one call, or None where there is none."""
    before = {
        p: v if callable(v) or isinstance(v, np.random.Generator) else copy.deepcopy(v)
        for p, v in arguments.items()
    }
    start = time.process_time()
    try:
        with limited(LONGEST), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(**arguments)
    except (InvalidParameter, OutsideTheorem) as error:
        result = None
        if "\n" in str(error) or len(str(error)) > 400:
            return f"a message of many lines or characters: {str(error)[:500]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    if time.process_time() - start > LONGEST:
        return "a call of more than ten CPU seconds"
    for p, value in arguments.items():
        plain = not callable(value) and not isinstance(value, np.random.Generator)
        if plain and not same(value, before[p]):
            return f"argument {p} was changed"
    finite = all(all_finite(v) for v in arguments.values())
    if finite and name.rsplit(".", 1)[1] not in NAN_MEANS and has_nan(result):
        return "NaN from finite arguments"
    return None


@pytest.mark.parametrize("name", DRIVERS)
def test_good_arguments_are_accepted(name):
    """So that the fuzz below reaches behind the first check."""
    function = DRIVERS[name]
    try:
        arguments = good_arguments(name, function)
    except KeyError as missing:
        pytest.fail(f"{name} has a new argument {missing}: add a good value to GOOD, or to INNER")
    function(**arguments)


def test_no_kernel_is_compiled_anew_for_another_layout_or_a_read_only_array():
    """A compilation takes up to twenty seconds, in which a caller sees nothing."""
    # By type(): isinstance asks a weak proxy for the class of what may be gone.
    dispatcher = numba.core.registry.CPUDispatcher
    kernels = [o for o in gc.get_objects() if issubclass(type(o), dispatcher)]

    def n_compiled():
        return {id(kernel): len(kernel.overloads) for kernel in kernels}

    anew = []
    for name, function in sorted(DRIVERS.items()):
        good = good_arguments(name, function)
        function(**good)
        for p, value in good.items():
            if not isinstance(value, np.ndarray):
                continue
            frozen = value.copy()
            frozen.setflags(write=False)
            for odd in (frozen, np.asfortranarray(value), np.repeat(value, 2, axis=-1)[..., ::2]):
                before = n_compiled()
                function(**{**good_arguments(name, function), p: odd})
                after = n_compiled()
                new = {k.py_func.__name__ for k in kernels if after[id(k)] > before[id(k)]}
                anew += [f"{name}, {p}: {', '.join(sorted(new))}"] if new else []
    assert not anew, anew


def test_bad_arguments_are_refused_in_one_line_and_nothing_else_happens():
    rng = np.random.default_rng(SEED)
    names, faults = sorted(DRIVERS), {}
    for name in names:  # compiles, which takes longer than a call may
        DRIVERS[name](**good_arguments(name, DRIVERS[name]))
    for call in range(CALLS):
        name = names[call % len(names)]
        function = DRIVERS[name]
        arguments = good_arguments(name, function)
        chosen = rng.choice(list(arguments), min(len(arguments), 1 + (rng.random() < 0.3)), False)
        said = []
        for p in chosen:
            values = [*pool(arguments[p]), 10**9, 1e9]
            if p in LONG:  # many iterations are slow, and no fault
                values = [
                    v
                    for v in values
                    if not np.isscalar(v) or isinstance(v, str | bytes) or not 100 < abs(v) < 1e20
                ]
            arguments[p] = values[rng.integers(len(values))]
            said.append(f"{p}={arguments[p]!r:.100}")
        wrong = fault(name, function, arguments)
        if wrong is not None:
            faults.setdefault((name, wrong.split(":")[0]), f"{name}({', '.join(said)}): {wrong}")
    assert not faults, f"{len(faults)} kinds of fault\n" + "\n".join(faults.values())
