"""The lemmas as they are printed, against exact laws."""

import itertools
import math
import re

import numpy as np
import pytest
from scipy.stats import binom

from verify.proofs.lemmas import LEMMAS


def right_side(key, **values):
    """The printed right-hand side of a lemma's inequality as a number."""
    text = re.split(r"\\(?:le|ge)", LEMMAS[key].says.split("$")[1])[-1]
    text = text.replace("\\,", "*").replace("\\frac12", "(1/2)*")
    text = re.sub(r"Ee\^\{sX\}", "M", re.sub(r"\\mathrm\{Var\}X", "V", text))
    text = re.sub(r"EX", "E", re.sub(r"e\^\{([^}]*)\}", r"exp(\1)", text))
    text = re.sub(r"\\sqrt x", "sqrt(x)", re.sub(r"\\Gamma", "gamma", text))
    text = re.sub(r"(?<=\d)(?=[a-zA-Z])|(?<=r)(?=x)", "*", text.replace("^", "**"))
    space = {name: getattr(math, name) for name in ("exp", "sqrt", "gamma")}
    return eval(text, {"__builtins__": {}}, {**space, **values})


def test_the_printed_tail_bounds_hold_and_are_attained_where_they_are_sharp():
    """Exact laws of two points and of coins, against the formula as it is printed."""
    for p, t in itertools.product((0.02, 0.3, 0.5, 0.9), (0.1, 0.7, 1.0, 2.5)):
        low, high, variance = -p, 1 - p, p * (1 - p)  # a coin less its mean
        above = p if high >= t else 0.0
        both = above + (1 - p if -low >= t else 0.0)
        assert above <= right_side("cantelli", V=variance, t=t) * (1 + 1e-12)
        assert both <= right_side("chebyshev", V=variance, t=t) * (1 + 1e-12)
        assert (p if t <= 1 else 0.0) <= right_side("markov", E=p, t=t) * (1 + 1e-12)
        moment = p * math.exp(t * high) + (1 - p) * math.exp(t * low)
        assert p <= right_side("chernoff", M=moment) * (1 + 1e-12)
        assert right_side("cantelli", V=variance, t=high) == pytest.approx(p)  # two points attain
    for n, p, t in itertools.product((1, 3, 12, 60), (0.1, 0.5, 0.8), (0.3, 1.0, 2.0, 7.5, 20.0)):
        tail = binom.sf(math.ceil(n * p + t - 1e-9) - 1, n, p)
        assert tail <= right_side("hoeffding", n=n, t=t) * (1 + 1e-9)
    for x in (0.1, 1.0, 30.5):
        assert math.gamma(x + 0.5) <= right_side("wendel", x=x)
        assert math.gamma(x + 0.5) >= right_side("wendel", x=x) * math.sqrt(x / (x + 0.5))
    for n, q in ((1, 0.5), (4, 0.1), (50, 49.0)):
        assert (1 - q / n) ** n <= right_side("exponential", q=q)
    for x, r in ((-1.0, 1.5), (-0.5, 1.0), (0.2, 3.7), (9.0, 2.0)):
        assert (1 + x) ** r >= right_side("bernoulli", x=x, r=r) * (1 - 1e-12)


def test_a_tail_bound_names_the_deviations_for_which_it_holds():
    """Below zero a probability near one exceeds the printed formula, so that t has a limit."""
    n, t = 4, -2.0
    assert binom.sf(math.ceil(n / 2 + t) - 1, n, 0.5) == 1.0 > right_side("hoeffding", n=n, t=t)
    assert right_side("chebyshev", V=0.25, t=-2.0) < 1.0
    for key in ("chebyshev", "hoeffding", "pinelis", "tropp", "davidson-szarek"):
        assert re.search(r"\$t(>|\\ge)0\$", LEMMAS[key].says), key


def test_a_projection_onto_top_singular_vectors_lengthens_no_vector_and_is_the_best():
    rng = np.random.default_rng(4)
    points, other = rng.standard_normal((9, 4)), rng.standard_normal((9, 2))
    _, _, right = np.linalg.svd(points)
    onto = right[:2].T @ right[:2]
    x = rng.standard_normal((50, 4))
    before, after = (np.linalg.norm(each, axis=1) for each in (x, x @ onto))
    assert np.all(after < before * 0.999)
    best = other @ np.linalg.lstsq(other, points, rcond=None)[0]
    assert np.linalg.norm(points - points @ onto, 2) <= np.linalg.norm(points - best, 2)
    assert "lengthens no vector" in LEMMAS["projection"].says
