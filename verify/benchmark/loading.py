"""What a new process loads before its first fit, while its caller prepares the run."""

from __future__ import annotations


def load() -> None:
    """Import the experiment and its estimators, and load the first kernels."""
    import numpy as np

    from verify.benchmark.federation import FEDERATION, draw
    from verify.benchmark.fits import FIT
    from verify.benchmark.methods import parse_method
    from verify.benchmark.warming import warm_up

    small = FEDERATION.check({"m": 4, "n": 8, "d": 2, "k": 2})
    warm_up(parse_method("local"), draw(small, np.random.default_rng(0)))
    assert FIT.name  # imported, so registered
