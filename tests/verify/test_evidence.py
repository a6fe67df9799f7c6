"""Evidence: the ratio of a cell has one meaning for each relation, and larger is worse."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from reports import schema
from reports.errors import ReportError
from trials.checks import InvalidParameter
from trials.run.store.documents import encode
from verify.decisions.probability import decide_exact_probability, decide_probability
from verify.evidence import (
    Evidence,
    EvidenceTable,
    Figure,
    Panel,
    Series,
    Slack,
    Verdict,
    ratio_of,
)
from verify.procedures.base import Presentation


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


POINTS = {"label": "a", "x": [1.0, 2.0], "y": [1.0, None], "lower": np.array([0, 1])}
AXES = {"title": "b", "name": "c", "hlines": ((1, "h"),), "spans": ((1.0, 2, "s"),)}
ROWS = {"title": "d", "columns": ("e", "f"), "rows": ((1, "g"), (None, np.float64(2.5)))}
RECORDS = {Series: schema.Series, Figure: schema.Figure, EvidenceTable: schema.Table}


@pytest.mark.parametrize(
    ("kind", "good", "wrong", "told"),
    [
        (Series, POINTS, {"x": ["1", 2.0]}, r"series 'a': x\[0\]='1' must be a number"),
        (Series, POINTS, {"x": [1.0, None]}, r"series 'a': x\[1\]=None must be a number"),
        (Series, POINTS, {"y": np.array(["1", "2"])}, r"y\[0\]=.* must be a number"),
        (Series, POINTS, {"y": [True, 1.0]}, r"y\[0\]=True must be a number"),
        (Series, POINTS, {"style": "dotted"}, "style='dotted' must be one of points, line, dashed"),
        (Series, POINTS, {"label": 5}, "must be texts"),
        (Figure, AXES, {"xscale": "log10"}, "panel 'b': xscale='log10' must be one of linear, log"),
        (Figure, AXES, {"yscale": None}, "panel 'b': yscale=None must be one of linear, log"),
        (Figure, AXES, {"hlines": (1.0,)}, r"panel 'b': 1.0 of hlines must be \(position, label\)"),
        (Figure, AXES, {"vlines": (("h", 1.0),)}, r"of vlines must be \(position, label\)"),
        (Figure, AXES, {"spans": ((1.0, "h"),)}, r"of spans must be \(from, to, label\)"),
        (Figure, AXES, {"series": (1,)}, "panel 'b': 1 must be a Series"),
        (Figure, AXES, {"panels": (1,)}, "figure 'c': 1 must be a Panel"),
        (Figure, AXES, {"ylabel": None}, "must be texts"),
        (Figure, AXES, {"caption": 1}, "figure 'c': .* must be texts"),
        (EvidenceTable, ROWS, {"columns": "ef"}, "table 'd': columns: 'ef' must be texts"),
        (EvidenceTable, ROWS, {"rows": ("ab",)}, "table 'd': row 0 is 'ab', and must hold 2 cells"),
        (
            EvidenceTable,
            ROWS,
            {"rows": ((1, [2]),)},
            r"the cell \[2\] of row 0 must be a text or a",
        ),
    ],
)
def test_what_no_report_can_read_is_refused_where_it_is_made(kind, good, wrong, told):
    """A run stored it with its verdict, and no report could be made of the whole run."""
    kind(**good)
    schema.decode(json.loads(encode(good)), RECORDS[kind], "")
    with pytest.raises(ReportError):
        schema.decode(json.loads(encode(good | wrong)), RECORDS[kind], "")
    with pytest.raises(InvalidParameter, match=told):
        kind(**good | wrong)


def test_a_table_has_as_many_cells_in_a_row_as_columns():
    with pytest.raises(InvalidParameter, match=r"table 'd': row 1 is \(1,\), and must hold 2"):
        EvidenceTable(**ROWS | {"rows": ((1, 2), (1,))})


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"notes": "i"}, "notes='i' must be a list of texts"),
        ({"sharpness": (1,)}, r"sharpness=\(1,\) must be a list of texts"),
        ({"figures": (Panel(title="b"),)}, "figures=.* must be a list of Figure objects"),
        ({"tables": (1,)}, "tables=.* must be a list of EvidenceTable objects"),
        ({"slack": (1.0,)}, "slack=.* must be a list of Slack objects"),
    ],
)
def test_a_presentation_holds_parts_of_their_types(wrong, told):
    """One text was shown as its letters, each a note."""
    with pytest.raises(InvalidParameter, match=told):
        Presentation(**wrong)
