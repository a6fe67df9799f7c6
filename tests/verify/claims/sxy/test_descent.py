"""The steps that are tried: all that (27) and (28) allow, and nothing beyond."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import pytest

from bounds.statement import evaluate, evaluate_mp
from bounds.sxy.descent import EQ_27, EQ_28, PROP_2_21
from verify.claims.sxy.descent import ESTIMATES, _step_after, estimates

POINT = {"ratio": 0.25, "beta": 3.0}


def test_the_ends_of_lean_and_stretch_attain_27_and_28():
    """alpha/beta = 1/4: the squared sine is at most 1/1024, and the squared length 1 +- 1/512."""
    (lean, stretch) = ((share.low, share.high) for share in ESTIMATES.values())
    found = set()
    for ends in product(lean, stretch):
        point = {**POINT, **dict(zip(ESTIMATES, ends, strict=True))}
        sine, length = estimates(point, math, evaluate)
        at = {"alpha": 0.75, "beta": 3.0, "v": 1.0, "a": math.sqrt(1 - sine**2)}
        at["sigma_hat"] = length
        sides = [(evaluate(e.left, at), evaluate(e.right, at)) for e in (EQ_27, *EQ_28)]
        equal = [left == pytest.approx(right, rel=1e-12) for left, right in sides]
        assert all(e or left > right for e, (left, right) in zip(equal, sides, strict=True))
        assert equal[0]
        assert equal[1:] in ([True, False], [False, True])
        found.add((round(sine * 32, 9), round(512 * (length**2 - 1), 6)))
        exact = estimates(point, mpmath, evaluate_mp)
        assert [float(x) for x in exact] == pytest.approx([sine, length], rel=1e-12)
    assert found == set(product((-1.0, 1.0), repeat=2))


def test_the_share_of_the_anchors_cluster_counts_where_there_are_others():
    """One cluster has all anchors.  Of two, the other one's residual disturbs the moments."""
    point = {"d": 3, "ratio": 0.5, "beta": 1.0, "unit": 2.0, "share": 0.5, "seed": 7}
    point |= {"style_1": "turn", "style_2": "random"}
    alone, with_another = (
        [_step_after(PROP_2_21, {**point, "k": k, "p": p}) for p in (0.02, 0.5, 0.98)]
        for k in (1, 2)
    )
    assert len(set(alone)) == 1
    assert len(set(with_another)) == 3
