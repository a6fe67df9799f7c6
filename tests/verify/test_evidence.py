"""Evidence: the ratio of a cell has one meaning for each relation, and larger is worse."""

import math
from dataclasses import replace

import pytest

from trials.checks import InvalidParameter
from verify.decisions.probability import decide_exact_probability, decide_probability
from verify.evidence import Evidence, Series, Slack, Verdict, ratio_of


@pytest.mark.parametrize(
    ("observed", "bound", "relation", "ratio"),
    [
        (2.0, 8.0, "at most", 0.25),
        (8.0, 2.0, "at most", 4.0),
        (8.0, 2.0, "at least", 0.25),
        (2.0, 8.0, "at least", 4.0),
        (2.0, 8.0, "equals", 4.0),
        (8.0, 2.0, "equals", 4.0),
        (0.0, 0.0, "equals", 1.0),
        (2.0, 8.0, "order", 0.25),
        (0.0, 2.0, "at most", 0.0),
        (0.1, 0.0, "at most", math.inf),
        (0.0, 2.0, "at least", math.inf),
        (0.0, 0.0, "at most", None),
        (-1.0, 2.0, "at most", None),
        (-1.0, -2.0, "at most", None),
        (-2.0, -1.0, "at least", None),
        (1.0, -2.0, "equals", None),
        (math.nan, 2.0, "at most", None),
        (math.inf, math.inf, "at most", None),
        (None, 2.0, "at most", None),
        (1.0, None, "order", None),
    ],
)
def test_the_ratio_is_at_most_one_where_the_observed_value_keeps_the_bound(
    observed, bound, relation, ratio
):
    assert ratio_of(observed, bound, relation) == ratio


def test_probabilities_and_laws_say_which_relation_they_test():
    (bound,) = decide_probability(10, 1000, 0.02, 0.05).cell_results([{}])
    assert (bound.relation, bound.ratio) == ("at most", 0.5)
    (law,) = decide_exact_probability(10, 1000, 0.02, 0.05).cell_results([{}])
    assert (law.relation, law.ratio) == ("equals", 2.0)


def test_the_suites_own_certificate_says_what_is_proved_where_coq_has_a_record_too():
    """The certificate needs a lemma, and Coq's theorem does not."""
    by = {"narrowed": [], "by": "a lemma"}
    record = {"coq": "8.16.1", "narrowed": [], "by": ""}
    both = Evidence(verdict=Verdict.SUPPORTED, summary="", level=0.01, n_trials=0, proved=by,
                    coq=record)  # fmt: skip
    assert both.mark == "PROVED UP TO A LEMMA"
    assert replace(both, proved=None).mark == "PROVED"
    assert replace(both, coq=None).mark == "PROVED UP TO A LEMMA"
    assert replace(both, coq=None, proved=None).mark == "SUPPORTED"
    assert replace(both, verdict=Verdict.REFUTED).mark == "REFUTED"


def test_the_slack_of_one_cell_is_that_cells_and_cells_without_a_ratio_have_no_part():
    """A bound that is 1/0.25 = 4 times the observed value."""
    (alone,) = Slack.of("the proof's constants", [0.25])
    assert (alone.least, alone.median, alone.most) == (4.0, 4.0, 4.0)
    (three,) = Slack.of("the fitted constants", [None, 2.0, 0.0, 0.125, math.inf, 0.5, math.nan])
    assert (three.least, three.median, three.most) == (0.5, 2.0, 8.0)
    assert (alone.constants, three.constants) == ("the proof's constants", "the fitted constants")
    assert Slack.of("no constants", [None, 0.0, math.inf]) == ()


@pytest.mark.parametrize("name", ["y", "lower", "upper", "shade"])
def test_columns_of_a_series_have_one_length(name):
    """A run stored it, and no report could be made of the run."""
    given = {"y": [1.0, 2.0], name: [1.0]}
    with pytest.raises(InvalidParameter, match=f"series 'a': {name} has 1 values and x has 2"):
        Series(label="a", x=[1.0, 2.0], **given)
