"""What a sentence about runs of an experiment asks of one run: one standard for all papers.

* A sentence about *all* of the R runs of a figure or a table is consistent with the experiment when
  R runs look so with a probability of at least one in twenty: `all_of`.  *None* of R runs, and
  *some* of them, are read in the same way.  R is the number that the text prints for the figure,
  and ten where it prints none.  Ten are the runs of ODCL's Section 5 and the starts of IFCA's
  Section VI-A.
* A sentence with a word for a share (likely, mostly) asks for more often than not.

A claim and its twin in another paper are so tried at one probability.
"""

from __future__ import annotations

import sympy as sp

#: The smallest probability of what a figure shows with which the experiment is consistent.
RARE = sp.Rational(1, 20)
#: "Likely" and "mostly" are more often than not.
MORE_OFTEN_THAN_NOT = sp.Rational(1, 2)
#: Where the text prints no number of runs.
RUNS = 10

_WORDS = {10: "ten", 20: "twenty"}


def all_of(runs: int = RUNS) -> sp.Expr:
    """The smallest probability of an event that all of ``runs`` show in one case of twenty.

    >>> round(float(all_of(10)), 3), round(float(all_of(20)), 3)
    (0.741, 0.861)
    """
    return sp.Pow(1 / RARE, sp.Rational(-1, runs), evaluate=False)


def none_of(runs: int = RUNS) -> sp.Expr:
    """The largest probability of an event that none of ``runs`` shows in one case of twenty."""
    return 1 - all_of(runs)


def some_of(runs: int = RUNS) -> sp.Expr:
    """The smallest probability of an event that one of ``runs`` shows in one case of twenty.

    >>> round(float(some_of(10)), 4)
    0.0051
    """
    return 1 - sp.Pow(1 - RARE, sp.Rational(1, runs), evaluate=False)


def all_name(runs: int = RUNS) -> str:
    """The name of the term `all_of`."""
    return f"all of {_WORDS[runs]} runs"


def all_words(runs: int = RUNS, printed: str = "The paper averages {} runs.") -> str:
    """The reading that goes with `all_of`, after the paper's own words about its runs."""
    word = _WORDS[runs]
    return (
        f"{printed.format(word)} The sentence is consistent with the experiment when all {word} "
        "runs show it with a probability of at least one in twenty, so one run with at least "
        f"$20^{{-1/{runs}}}={float(all_of(runs)):.3f}$. "
    )
