"""What a figure of R runs asks of one run, against the law of the number of runs that show it."""

import pytest
from scipy.stats import binom

from bounds.odcl.experiments import FIG_3_MATCH, FIG_4_ABOVE
from bounds.shown import all_of, all_words, none_of, some_of


@pytest.mark.parametrize("runs", [1, 10, 20, 40])
def test_a_figure_that_just_shows_it_is_one_of_twenty(runs):
    assert binom.pmf(runs, runs, float(all_of(runs))) == pytest.approx(0.05)
    assert binom.pmf(0, runs, float(none_of(runs))) == pytest.approx(0.05)
    assert binom.sf(0, runs, float(some_of(runs))) == pytest.approx(0.05)


def test_each_appendix_has_the_runs_that_it_prints():
    """D.1 averages 20 runs, and D.2 ten."""
    for statement, runs in ((FIG_3_MATCH, 20), (FIG_4_ABOVE, 10)):
        (term,) = statement.terms
        assert float(term.expr) == pytest.approx(20 ** (-1 / runs))
        assert term.name == f"all of {'ten' if runs == 10 else 'twenty'} runs"


def test_the_reading_says_the_number_that_is_asked_for():
    assert "one run with at least $20^{-1/20}=0.861$" in all_words(20)
    assert all_words(printed="Of {} runs.").startswith("Of ten runs. The sentence")
