"""The lemmas as they are printed, against exact laws."""

import itertools
import math
import re

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
