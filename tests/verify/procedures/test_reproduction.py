"""Printed numbers from trials to verdict: the named reading decides, the others stand beside it."""

from dataclasses import replace

import numpy as np
import pytest

from bounds.statement import Printed, Statement
from tests.stated import NOBODY
from tests.verify.toys import VALUE, stored, tried
from trials.checks import InvalidParameter
from verify.decisions.means import Knowledge
from verify.evidence import Verdict
from verify.procedures.base import Sampling
from verify.procedures.reproduction import Reading, Reproduction


def reading(factor, **cell):
    return Reading(
        sampling=Sampling(experiment=VALUE, max_trials=8192, first=256),
        cell=lambda at: {"scale": factor * at["scale"], **cell},
        statistic=lambda table, _cell: table["value"],
        knowledge=lambda cell: Knowledge(low=0.0, high=cell["scale"]),
        meaning=f"scale times {factor}",
    )


def claim(*values, named="plain", tolerance=0.03, **cell):
    return Reproduction(
        statement=Statement(
            id="toy.reproduction",
            title="A toy",
            publication=NOBODY,
            source="Table 3",
            kind="reproduction",
            quantifiers="",
            observed="E S",
            printed=tuple(
                Printed(at={"scale": float(i)}, value=v, tolerance=tolerance)
                for i, v in enumerate(values, 1)
            ),
        ),
        readings={"plain": reading(1.0, **cell), "doubled": reading(2.0, **cell)},
        named=named,
        observable="the value (units)",
    )


def test_the_named_reading_decides(tmp_path):
    evidence, _ = tried(claim(0.5, 1.0), tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert "doubled: REFUTED" in evidence.summary
    evidence, _ = tried(claim(0.5, 1.0, named="doubled"), tmp_path, seed=1)
    assert evidence.verdict is Verdict.REFUTED
    assert "Reading plain reproduces every printed number." in evidence.notes
    (table,) = evidence.tables
    assert len(table.rows) == 4
    assert table.rows[2][0] == "doubled (named)"
    assert {row[-1] for row in table.rows} == {"SUPPORTED", "REFUTED"}


def test_one_number_out_of_tolerance_refutes_and_a_wide_one_is_inconclusive(tmp_path):
    assert tried(claim(0.5, 1.2), tmp_path)[0].verdict is Verdict.REFUTED
    close = claim(0.5, 1.0, tolerance=0.001)
    assert tried(close, tmp_path, seed=1)[0].verdict is Verdict.INCONCLUSIVE


def test_the_verdict_hangs_on_the_printed_numbers(tmp_path):
    build = claim(0.5, 1.0)
    other = replace(build, statement=claim(0.5, 1.1).statement)
    assert tried(build, tmp_path)[0].verdict is Verdict.SUPPORTED
    assert tried(other, tmp_path, seed=1)[0].verdict is Verdict.REFUTED


def test_failed_trials_have_the_largest_value(tmp_path):
    assert tried(claim(0.5, 1.0, lost=0.3), tmp_path)[0].verdict is Verdict.REFUTED


def test_a_curve_is_drawn_with_its_tolerances(tmp_path):
    evidence, _ = tried(claim(0.5, 1.0, 1.5), tmp_path)
    (figure,) = evidence.figures
    assert [s.label for s in figure.series] == ["printed", "plain", "doubled"]
    assert figure.series[0].lower == [0.47, 0.97, 1.47]
    assert tried(claim(0.5), tmp_path, seed=1)[0].figures == ()


def test_checks_overrides_and_description():
    build = claim(0.5, 1.0)
    build.check()
    one = build.override({"scale": 2.0})
    assert [p.value for p in one.printed] == [1.0]
    with pytest.raises(InvalidParameter, match=r"prints no number at scale=9\.0"):
        build.override({"scale": 9.0})
    with pytest.raises(InvalidParameter, match="no parameter 'law'; its parameters: scale"):
        build.override({"law": "coin"})
    with pytest.raises(InvalidParameter, match="reading 'x' must be one of plain, doubled"):
        replace(build, named="x").check()
    with pytest.raises(InvalidParameter, match="prints no number"):
        claim().check()
    for part in ("2 printed numbers", "scale times 2.0", "reading plain", "8192"):
        assert part in build.describe()


def test_table_figure_notes_and_summary_tell_one_story(tmp_path):
    """Every number of every reading stands in the table, the curves and the largest distance."""
    for i, tried_claim in enumerate((claim(0.5, 1.0, 1.5), claim(0.5, 1.3, lost=0.1))):
        evidence, _ = tried(tried_claim, tmp_path / str(i))
        printed = tried_claim.printed
        (table,) = evidence.tables
        rows = {
            name: [r for r in table.rows if r[0] == name] for name in ("plain (named)", "doubled")
        }
        assert [(r[4], r[5], r[6], r[7]) for r in rows["plain (named)"]] == [
            (c.observed, c.lower, c.upper, c.verdict) for c in evidence.cells
        ]
        assert sum(map(len, rows.values())) == len(table.rows)
        (figure,) = evidence.figures
        curves = {s.label: s for s in figure.series}
        for label, name in (("plain", "plain (named)"), ("doubled", "doubled")):
            assert [r[1] for r in rows[name]] == [f"scale={p.at['scale']}" for p in printed]
            assert [(r[2], r[3]) for r in rows[name]] == [(p.value, p.tolerance) for p in printed]
            assert list(curves[label].x) == [p.at["scale"] for p in printed]
            assert list(curves[label].y) == [r[4] for r in rows[name]]
            assert list(curves[label].lower) == [r[5] for r in rows[name]]
            assert list(curves[label].upper) == [r[6] for r in rows[name]]
        assert list(curves["printed"].y) == [p.value for p in printed]
        tops = [p.value + p.tolerance for p in printed]
        assert list(curves["printed"].upper) == pytest.approx(tops)
        pairs = zip(evidence.cells, printed, strict=True)
        gaps = [abs(c.observed - p.value) / p.tolerance for c, p in pairs if c.observed < 1e300]
        said = [note for note in evidence.notes if "largest distance" in note]
        assert said == [
            f"The largest distance from a printed number is {max(gaps):.2g} tolerances."
        ] * bool(gaps)
        assert evidence.summary.startswith("reading plain: ")
        assert evidence.summary.endswith("(other readings: doubled: REFUTED)")
    alone = replace(claim(0.5, 1.0), readings={"plain": reading(1.0)})
    assert "other readings" not in tried(alone, tmp_path / "alone")[0].summary


def test_settings_that_were_chosen_are_chosen_among_further():
    build = claim(0.5, 1.0, 1.5)
    numbers = build.statement.printed
    twice = replace(build, statement=replace(build.statement, printed=(*numbers, *numbers)))
    assert twice.override({"scale": 2.0}).only == (1, 4)
    assert replace(twice, only=(0, 4)).override({"scale": 2.0}).only == (4,)
    with pytest.raises(InvalidParameter, match="prints no number at"):
        replace(twice, only=(0, 1)).override({"scale": 3.0})


@pytest.mark.parametrize(
    ("settings", "axis"),
    [
        ([{"n": 1}, {"n": 2}], ["n"]),
        ([{"law": "a", "n": 5}, {"law": "b", "n": 9}], ["n"]),
        ([{"law": "a"}, {"law": "b"}], []),
        ([{"n": 1, "m": 4}, {"n": 1, "m": 8}], ["m"]),
        ([{"n": 1}, {"n": 1}, {"n": 2}], []),
    ],
)
def test_a_curve_runs_along_the_one_number_that_differs_everywhere(settings, axis):
    build = claim(*[1.0] * len(settings))
    printed = tuple(Printed(at=at, value=1.0, tolerance=0.1) for at in settings)
    build = replace(build, statement=replace(build.statement, printed=printed))
    assert [figure.xlabel for figure in build._figures({})] == axis


@pytest.mark.parametrize("printed", [0.001, 0.5, 0.999])
def test_runs_that_all_failed_reproduce_no_number(printed, tmp_path):
    """Nor an accuracy near one, the largest value that there is."""
    build = claim(printed, tolerance=0.05)
    build = replace(build, readings={"plain": build.readings["plain"]})
    cell = build.readings["plain"].cell({"scale": 1.0})
    with stored(tmp_path, VALUE, [(cell, np.full((8192, 1), np.nan), range(8192))]) as store:
        evidence = build.decide(store, 0.05)
    assert evidence.verdict is Verdict.REFUTED
    assert evidence.n_failed == evidence.n_trials > 0
