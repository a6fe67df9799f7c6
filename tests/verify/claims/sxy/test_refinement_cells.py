"""Cells of the floors that tell one from the number of clients, clusters, features, local steps."""

import math

import numpy as np
import pytest

from trials.experiments.sxy.refinement import REFINEMENT
from trials.run.store import Table
from verify.claims.sxy.refinement import RATE
from verify.papers import catalogue
from verify.procedures.base import PROFILES


def simulated(claim, n_trials, **wanted):
    """The cell of a claim with some parameters, and its trials by column."""
    cells = catalogue()[claim].build(PROFILES["quick"]).cells
    (cell,) = (c for c in cells if all(c.get(name) == value for name, value in wanted.items()))
    rows = REFINEMENT.simulate(REFINEMENT.check(cell), np.random.default_rng(0), n_trials)
    return cell, dict(zip(REFINEMENT.columns, rows.T, strict=True))


def nu(cell):
    """(10) for two equal clusters, equal clients, and noise below the separation."""
    chance = 8 * math.exp(-RATE * cell["n"])
    return chance + math.sqrt(cell["d"] * 2 * math.log(2) / cell["M"])


def floor(cell, kappa=1.0):
    """sigma kappa/rho nu log(e/nu), with rho = 1/2."""
    share = nu(cell)
    return cell["sigma"] * kappa * 2 * share * (1 - math.log(share))


def test_many_clients_tell_one_from_their_number_in_the_floor():
    cell, trials = simulated("sxy.thm2-floor", 8, M=180, near=1e-6)
    assert np.all(trials["err_40"] < floor(cell))
    # what is left of the start is at most all of it, 1e-6
    assert np.median(trials["err_40"]) > floor(cell) / cell["M"] + 1e-6


@pytest.mark.parametrize(("claim", "column"), [("thm2-floor", "err_40"), ("per-client", "client")])
def test_4000_local_steps_tell_one_from_their_root_in_the_floor(claim, column):
    """4000 steps of 1/5000 have kappa = 0.8/(1 - exp(-0.8)) nearly, where the curvature is one."""
    cell, trials = simulated(f"sxy.{claim}", 32, s=4000)
    kappa = 0.8 / -math.expm1(-0.8)
    assert np.all(trials[column] < floor(cell, kappa))
    beyond = trials[column] > floor(cell, kappa) / math.sqrt(cell["s"]) + 1e-6
    assert np.mean(beyond) > 0.5


def test_24_features_tell_one_from_their_number_in_the_floor_of_a_client():
    cell, trials = simulated("sxy.per-client", 8, d=24)
    assert nu(cell) < 1
    assert np.all(trials["client"] < floor(cell))
    assert np.median(trials["client"]) > floor(cell) / cell["d"] + 1e-6


def test_seven_clusters_tell_one_from_their_number_in_the_sharp_floor():
    """The error of known labels is that of the largest of seven, each with 1600 rows."""
    cell, trials = simulated("sxy.thm2-floor-sharp", 32, k=7)
    largest = 6 * cell["sigma"] * math.sqrt(cell["d"] / 1600)
    assert largest < cell["near"]
    # Theorem 2's first term with C1 = 1/2: a round leaves 1 - step/(2 k) of the start
    start = cell["near"] * (1 - trials["step"] / (2 * cell["k"])) ** 40
    assert np.all(trials["err_40"] < largest + start)
    beyond = trials["err_40"] > largest / cell["k"] + start
    assert np.mean(beyond) > 2 * 7 * math.exp(-5)  # twice the failure probability


def test_many_local_steps_tell_one_from_the_root_of_s():
    """400 steps of 1/500 have kappa = 0.8/(1 - exp(-0.8)) nearly."""
    cells = catalogue()["sxy.thm2-floor-sharp"].build(PROFILES["quick"]).cells
    (cell,) = (c for c in cells if c.get("s") == 400)
    rows = REFINEMENT.simulate(REFINEMENT.check(cell), np.random.default_rng(0), 4)
    ends = rows[:, REFINEMENT.columns.index("err_40")]
    unit = cell["sigma"] * math.sqrt(2 / (cell["M"] * cell["n"]))
    kappa = 0.8 / -math.expm1(-0.8)
    floor = 6 * unit * math.sqrt(kappa * cell["d"])
    assert np.all(ends < floor)
    # Theorem 2's first term with C1 = 1/2, where no curvature of a client is above two
    start = cell["near"] * (1 - 0.8 / 2 / kappa / 2 / 2) ** 40
    assert np.median(ends) > floor / math.sqrt(cell["s"]) + start


@pytest.mark.parametrize("claim", ["sxy.thm2-floor", "sxy.thm2-floor-sharp"])
def test_changes_of_the_number_of_rounds_are_compared_at_every_round(claim):
    """The claim tries each t from 0 to 40, and not the last one alone."""
    procedure = catalogue()[claim].build(PROFILES["quick"])
    columns = REFINEMENT.columns
    values = np.zeros((64, len(columns)))
    table = Table(columns=columns, values=values, failed=np.zeros(64, dtype=bool), reasons=())
    rounds = procedure.symbols(table, procedure.cells[0])["t"]
    assert rounds.shape == (64,)
    assert set(rounds) == set(range(1, 41))
