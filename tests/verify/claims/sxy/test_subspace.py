"""Lemma 5's number of iterations against the Beta law of a line, and the cell that needs them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from bounds.sxy.subspace import LEMMA_5
from bounds.sxy.symbols import t
from verify.claims.sxy.subspace import LEMMA_5_CONSTANTS, lemma_5
from verify.procedures.base import PROFILES


def misses(d, n_rows, constant):
    """P(cos^2 of a random line < 64^(-2 T)) over C' N^-10 after T = ceil(C log(dN)) iterations."""
    rounds = math.ceil(constant * math.log(d * n_rows))
    # the density of the cosine is at most twice its value at zero times c, exactly for small c
    logs = special.betaln(0.5, (d - 1) / 2)
    log_chance = -2 * rounds * math.log(8.0) + math.log(2) - logs
    return log_chance - math.log(3.35) + 10 * math.log(n_rows)


@pytest.mark.parametrize("n_rows", [2, 3, 10, 1000, 10**9])
@pytest.mark.parametrize("d", [2, 3, 10, 1000, 10**9])
def test_five_halves_are_enough_iterations_for_a_line_of_any_dimension(d, n_rows):
    assert misses(d, n_rows, LEMMA_5_CONSTANTS["C"]) <= 0.0


def test_two_are_not_enough_for_many_rows():
    assert misses(2, 10**9, 2.0) > 0.0


@pytest.mark.parametrize("share", [1 / 2, 1 / 3, 1 / 8])
def test_a_smaller_number_of_iterations_loses_its_support(share):
    """The law's limit of one cell is then above the stated probability, and of none before."""
    stated = LEMMA_5.definitions[t]
    fewer = replace(lemma_5, statement=replace(LEMMA_5, definitions={t: stated * share}))

    def above(claim):
        tried = claim.build(PROFILES["quick"])
        return [tried.log_limit(cell) > tried.log_delta(cell) for cell in tried.cells]

    assert not any(above(lemma_5))
    assert np.sum(above(fewer)) >= 1
