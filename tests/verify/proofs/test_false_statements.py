"""A share of `tests.false_statements`: no false statement is proved, and the tally can fail."""

import numpy as np

from tests.false_statements import Tally, changed_documents, changed_terms, is_false, run

TRUE = {"variables": ["x"], "given": [[">", "x", "0"]], "claim": [">=", ["^", "x", "2"], "0"]}


def test_no_false_statement_of_some_claims_is_proved():
    tally = run(["ifca.lemma3", "sxy.eq35"], share=6, seconds=0.02, most=40)
    assert tally.tried >= 6
    assert tally.proved == []


def test_a_true_statement_is_not_counted_as_false():
    assert not is_false(TRUE)
    assert is_false({**TRUE, "claim": [">=", "x", "1"]})


def test_a_false_statement_at_a_point_of_an_equation_is_found():
    equal = {"variables": ["x", "y"], "given": [[">=", "x", "y"], [">=", "y", "x"]],
             "claim": [">=", "x", ["*", "2", "y"]]}  # fmt: skip
    assert not is_false(equal)
    assert is_false(equal, [{"x": 1.0, "y": 1.0}])


def test_every_part_of_a_term_is_changed():
    changed = list(changed_terms(["+", "x", ["*", "2", "y"]], ["x", "y"]))
    assert ["*", "x", ["*", "2", "y"]] in changed
    assert ["+", "y", ["*", "2", "y"]] in changed
    assert ["+", "x", ["*", "4", "y"]] in changed
    assert all(each != ["+", "x", ["*", "2", "y"]] for each in changed)


def test_a_proved_false_statement_would_be_told():
    tally = Tally(1)
    tally.note("terms", "x >= 1", True)
    assert tally.proved == ["x >= 1"]


def test_a_false_statement_about_sums_is_found_at_arrays():
    """Without the weights' sign their sum may be below zero."""
    signed = {"variables": ["w"], "vectors": [], "given": [[">=", "w", "0"]]}
    of = {"variables": [], "vectors": [], "sums": {"F": signed}, "given": [],
          "claim": [">=", ["sum", "F", "w"], "0"]}  # fmt: skip
    places = [{"F": {"w": np.array([-1.0, 0.5])}}, {"F": {"w": np.array([1.0])}}]
    assert not is_false(of, places)
    assert any(is_false(each, places) for each in changed_documents(of))
