"""What a benchmark shows: sentences, columns and figures against loops over made results."""

import csv
import io
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trials.checks import InvalidParameter
from verify.benchmark import pages
from verify.benchmark.contrasts import Contrast, Estimate
from verify.benchmark.design import NAMED
from verify.benchmark.figures import figures
from verify.benchmark.guarantees import Guarantee
from verify.benchmark.metrics import METRICS
from verify.benchmark.running import FederationResult, MethodResult, Result

METHODS = ("ifca", "odcl-km", "local")
VALUES = st.sampled_from([0.0, 1e-3, 0.5, 2.0, 1e4, math.inf, math.nan])
COUNTS = st.sampled_from([None, 0.0, 3.0, 40.0, 900.0])
PLACES = {
    "inside": "inside the guarantee", "outside": "outside the guarantee",
    "vacuous": "the guarantee is vacuous",
}  # fmt: skip


@st.composite
def method_rows(draw, name):
    up, down, cpu = draw(COUNTS), draw(COUNTS), draw(COUNTS)
    middle = draw(VALUES)
    place = draw(st.sampled_from(["none", *PLACES]))
    failed = draw(st.integers(0, 3))
    return MethodResult(
        method=name, n_trials=8, n_failed=failed,
        median=Estimate(value=middle, lower=middle / 2, upper=middle * 2),
        means={**dict.fromkeys(METRICS), "floats-up": up, "floats-down": down, "cpu": cpu},
        best_rank=1, worst_rank=draw(st.integers(1, 3)), oracle=False, best=draw(st.booleans()),
        guarantee=Guarantee(
            place=place, claim=draw(st.sampled_from(["", "a.claim"])), reason=f"of {name}",
            bound=draw(st.sampled_from([None, 0.25])),
        ),
        failure="it broke" if failed else "",
    )  # fmt: skip


@st.composite
def results(draw):
    vary = draw(st.sampled_from(["", "n"]))
    federations = tuple(
        FederationResult(
            params={"n": n, "d": 3}, n_trials=8, groups=(),
            methods=tuple(draw(method_rows(name)) for name in draw(st.permutations(METHODS))),
            contrasts=tuple(
                Contrast(
                    first="ifca", second="local",
                    estimate=Estimate(value=1.0, lower=1.0, upper=1.0),
                    state=draw(st.sampled_from(["narrow", "open", "ifca"])),
                )
                for _ in range(draw(st.integers(0, 3)))
            ),
        )
        for n in ((8, 16, 64) if vary else (8,))
    )  # fmt: skip
    declared = replace(NAMED["few-samples"], vary=vary, methods=",".join(METHODS), notes=("A.",))
    return Result(benchmark=declared, federations=federations, stopped="x", cpu_seconds=2.0)


@settings(max_examples=20, deadline=None)
@given(results())
def test_a_line_of_the_table_has_the_failures_of_all_trials_and_the_place_of_its_own_method(result):
    for found in result.federations:
        lines = pages.rows(result, found)
        assert [line[1] for line in lines] == [row.method for row in found.methods]
        for row, line in zip(found.methods, lines, strict=True):
            assert (line[0] == "*") == row.best
            failed, trials = map(int, line[-2].split("/"))
            assert (failed, trials) == (row.n_failed, 8)
            assert line[-1] == row.guarantee.place.replace("none", "-")


@settings(max_examples=40, deadline=None)
@given(results())
def test_the_notes_count_contrasts_and_failures_and_name_each_guarantee_once(result):
    found = pages.notes(result)
    contrasts = [c.state for f in result.federations for c in f.contrasts]
    decided = sum(state != "open" for state in contrasts)
    assert f" {decided} of {len(contrasts)} contrasts decided or narrow." in found[0]
    vary = result.benchmark.vary
    for f in result.federations:
        where = f" at samples={f.params['n']}" if vary else ""
        for row in f.methods:
            line = f"{row.method}: {row.n_failed} of 8 fits failed{where}, the first: it broke"
            assert found.count(line) == (row.n_failed > 0)
    for name in METHODS:
        for place, words in PLACES.items():
            there = [
                (f.params["n"], row.guarantee)
                for f in result.federations
                for row in f.methods
                if row.method == name and row.guarantee.place == place
            ]
            said = [line for line in found if line.startswith(f"{name}: {words}")]
            assert len(said) == bool(there)
            for line in said:
                claim = there[0][1].claim
                assert (
                    f"{claim}: of {name})" in line
                    if claim
                    else f"(of {name})" in line or (f"(the first, of {name})" in line)
                )
                assert ("the first" in line) is (len(there) > 1)
                if vary:
                    assert f" at {', '.join(f'samples={n}' for n, _ in there)} (" in line
    assert found[-1] == "A."


@settings(max_examples=40, deadline=None)
@given(results())
def test_who_sends_least_of_the_best_is_named_from_half_as_many_floats_on(result):
    """A method that tells half of its floats is compared with nobody: the other half is not 0."""
    for f in result.federations:
        best = [row for row in f.methods if row.best]
        said = pages.answer(replace(result, federations=(f,)))
        assert all(row.method in said for row in best)
        both = [(row.means["floats-up"], row.means["floats-down"], row.method) for row in best]
        untold = any(None in parts for parts in both)
        sent = [] if untold else sorted((up + down, method) for up, down, method in both)
        clear = len(sent) > 1 and sent[0][0] > 0 and sent[1][0] >= 2 * sent[0][0]
        assert ("fewer floats" in said) is clear
        if clear:
            times = sent[1][0] / sent[0][0]
            assert f"and {sent[0][1]} sends {times:,.0f} times fewer floats" in said


@settings(max_examples=40, deadline=None)
@given(results())
def test_a_figure_has_every_finite_value_and_a_logarithmic_axis_where_all_are_positive(result):
    made = {figure.name.rpartition("-")[2]: figure for figure in figures(result)}
    assert ("n" in made) is (result.benchmark.vary == "n")
    points = {
        name: [
            (f.params["n"], r) for f in result.federations for r in f.methods if r.method == name
        ]
        for name in METHODS
    }
    if "n" in made:
        along = made["n"]
        lines = {s.label: s for s in along.series}
        shown = []
        for name, rows in points.items():
            medians = [r.median.value for _, r in rows]
            assert (name in lines) is any(map(math.isfinite, medians))
            if name not in lines:
                assert f"{name}: exact mean" not in lines
                continue
            line = lines[name]
            assert list(line.x) == [n for n, _ in rows]
            for value, low, high, (_, r) in zip(line.y, line.lower, line.upper, rows, strict=True):
                finite = math.isfinite(r.median.value)
                assert value == (r.median.value if finite else None)
                assert low == (r.median.lower if finite else None)
                assert high == (r.median.upper if finite else None)
                shown += [v for v in (value, low) if v is not None]
            bounds = [r.guarantee.bound for _, r in rows]
            assert (f"{name}: exact mean" in lines) is any(b is not None for b in bounds)
        assert along.xscale == "log"
        assert "samples of a client" in along.xlabel
        assert (along.yscale == "log") is (bool(shown) and min(shown) > 0)
    sent = {
        name: [(r.means["floats-up"], r.means["floats-down"]) for _, r in rows]
        for name, rows in points.items()
    }
    nothing = [name for name, each in sent.items() if all(pair == (0, 0) for pair in each)]
    silent = [name for name, each in sent.items() if all(None in pair for pair in each)]
    caption = made["cost"].caption
    assert (f"No floats are sent by {', '.join(nothing)}." in caption) is bool(nothing)
    assert (f"It is not known what is sent by {', '.join(silent)}." in caption) is bool(silent)
    panels = {panel.title.rpartition(" ")[2]: panel for panel in made["cost"].panels}
    for kind in ("floats", "cpu"):
        expected = {}
        for name, rows in points.items():
            for _, row in rows:
                up, down, cpu = (row.means[key] for key in ("floats-up", "floats-down", "cpu"))
                whole = None if up is None or down is None else up + down
                x, y = (whole if kind == "floats" else cpu), row.median.value
                if x and math.isfinite(y):
                    expected.setdefault(name, []).append((x, y))
        assert (kind in panels) is bool(expected)
        if expected:
            drawn = {s.label: list(zip(s.x, s.y, strict=True)) for s in panels[kind].series}
            assert drawn == expected
            positive = min(y for line in expected.values() for _, y in line) > 0
            assert (panels[kind].yscale == "log") is positive


def test_a_parameter_that_begins_at_zero_leaves_the_errors_their_logarithmic_axis():
    row = MethodResult(
        method="ifca", n_trials=8, n_failed=0, median=Estimate(value=0.5, lower=0.25, upper=1.0),
        means=dict.fromkeys(METRICS), best_rank=1, worst_rank=1, oracle=False, best=True,
        guarantee=Guarantee(place="none"),
    )  # fmt: skip
    federations = tuple(
        FederationResult(params={"n": n}, n_trials=8, groups=(), methods=(row,), contrasts=())
        for n in (0, 8)
    )
    declared = replace(NAMED["few-samples"], vary="n", methods="ifca")
    made = Result(benchmark=declared, federations=federations, stopped="x", cpu_seconds=2.0)
    along = next(figure for figure in figures(made) if figure.name.endswith("-n"))
    assert (along.xscale, along.yscale) == ("linear", "log")


def test_a_contrast_with_the_first_method_is_told_the_way_it_reads():
    """Of the second method in a pair it is turned round: the limits are 1/2 of 2, and 1/8 of 8."""
    limits = Estimate(value=4.0, lower=2.0, upper=8.0)
    never = Estimate(value=0.5, lower=0.0, upper=math.inf)
    row = MethodResult(
        method="", n_trials=8, n_failed=0, median=limits, means={}, best_rank=1, worst_rank=1,
        oracle=False, best=True, guarantee=Guarantee(place="none"),
    )  # fmt: skip
    first, second, third = (replace(row, method=name) for name in ("local", "ifca", "odcl-km"))
    found = FederationResult(
        params={}, n_trials=8, groups=(), methods=(first, second, third),
        contrasts=(
            Contrast(first="local", second="ifca", estimate=limits, state="second"),
            Contrast(first="odcl-km", second="local", estimate=limits, state="second"),
        ),
    )  # fmt: skip
    told = [pages.against_best(found, each) for each in found.methods]
    assert told == ["1", "0.25 [0.125, 0.5]", "4 [2, 8]"]
    wide = Contrast(first="local", second="ifca", estimate=never, state="open")
    assert pages.against_best(replace(found, contrasts=(wide,)), second) == "2 [0, inf]"
    assert pages.against_best(replace(found, contrasts=()), second) == "-"


def test_the_exact_mean_of_the_error_is_drawn_beside_the_error_alone():
    known = Guarantee(place="inside", bound=0.25)
    row = MethodResult(
        method="local", n_trials=8, n_failed=0, means=dict.fromkeys(METRICS), best_rank=1,
        median=Estimate(value=0.5, lower=0.25, upper=1.0), worst_rank=1, oracle=False, best=True,
        guarantee=known,
    )  # fmt: skip
    federations = tuple(
        FederationResult(params={"n": n}, n_trials=8, groups=(), methods=(row,), contrasts=())
        for n in (8, 16)
    )
    for metric, laws in (("error", [[0.25, 0.25]]), ("held-out", []), ("worst", [])):
        declared = replace(NAMED["few-samples"], methods="local", metric=metric)
        result = Result(benchmark=declared, federations=federations, stopped="x", cpu_seconds=2.0)
        along, _ = figures(result)
        drawn = [list(s.y) for s in along.series if s.label == "local: exact mean"]
        assert drawn == laws


@pytest.mark.parametrize("power", range(-4, 12))
@pytest.mark.parametrize("factor", [1.0, 9.994, 9.996, -1.0])
@pytest.mark.parametrize("digits", [2, 3])
def test_a_number_for_people_has_its_digits_or_whole_thousands(power, factor, digits):
    x = factor * 10.0**power
    shown = pages.number(x, digits)
    assert float(shown.replace(",", "")) == pytest.approx(x, rel=0.5 * 10.0 ** (1 - digits))
    rounded = abs(float(f"{x:.{digits}g}"))
    if 10.0**digits <= rounded and abs(x) < 1e9:
        assert shown == f"{round(x):,}"
    assert ("e" in shown) is (abs(x) >= 1e9 or rounded < 1e-4)


def test_the_text_that_latex_shows_is_the_text_that_was_given():
    """A small reader of LaTeX: commands become their characters, and nothing special is left."""
    names = {
        "textbar": "|", "textless": "<", "textgreater": ">", "textbackslash": "\\",
        "textasciicircum": "^", "textasciitilde": "~",
    }  # fmt: skip
    given_text = "".join(map(chr, range(32, 127))) + r"\_{x}^2 KeyError: {'a': '\n'}"
    shown, rest = "", pages.tex(given_text)
    while rest:
        if command := re.match(r"\\([a-z]+)\{\}", rest):
            shown += names[command[1]]
        elif command := re.match(r"\\([_&%#${}])", rest):
            shown += command[1]
        else:
            command = re.match(r"[^\\_&%#${}^~|<>]", rest)
            assert command is not None, rest
            shown += command[0]
        rest = rest[command.end() :]
    assert shown == given_text


def test_federations_with_other_parameters_share_a_table():
    """A benchmark over several tables: each has parameters of its own."""
    row = MethodResult(
        method="local", n_trials=4, n_failed=0,
        median=Estimate(value=1.0, lower=0.5, upper=2.0), means=dict.fromkeys(METRICS),
        best_rank=1, worst_rank=1, oracle=False, best=True,
        guarantee=Guarantee(place="none", claim="", reason=""),
    )  # fmt: skip
    places = [{"data": "digits", "n": 20}, {"data": "diabetes", "k": 3}]
    found = tuple(
        FederationResult(params=at, n_trials=4, methods=(row,), contrasts=(), groups=())
        for at in places
    )
    declared = replace(NAMED["digits"], vary="data")
    made = Result(benchmark=declared, federations=found, stopped="x", cpu_seconds=1.0)
    read = list(csv.DictReader(io.StringIO(pages.as_csv(made))))
    assert [(r["data"], r["n"], r["k"], r["median"]) for r in read] == [
        ("digits", "20", "", "1.0"),
        ("diabetes", "", "3", "1.0"),
    ]


def test_a_csv_table_holds_no_text_that_a_spreadsheet_would_run():
    """Columns of a table of one's own may have any names."""
    row = MethodResult(
        method="local", n_trials=4, n_failed=0,
        median=Estimate(value=1.0, lower=-0.5, upper=2.0), means=dict.fromkeys(METRICS),
        best_rank=1, worst_rank=1, oracle=False, best=True,
        guarantee=Guarantee(place="none", claim="", reason=""),
    )  # fmt: skip
    at = {"data": "a.csv", "client": "=1+1", "target": "@SUM(A1)", "k": 2}
    found = FederationResult(params=at, n_trials=4, methods=(row,), contrasts=(), groups=())
    declared = replace(NAMED["digits"], vary="")
    made = Result(benchmark=declared, federations=(found,), stopped="x", cpu_seconds=1.0)
    (read,) = csv.DictReader(io.StringIO(pages.as_csv(made)))
    assert (read["client"], read["target"], read["data"]) == ("'=1+1", "'@SUM(A1)", "a.csv")
    assert (read["lower"], read["k"]) == ("-0.5", "2")


def test_a_method_whose_every_fit_failed_is_not_among_the_best():
    """Before, it was best and not separated where nothing was."""

    def row(name, n_failed, *, best, oracle=False):
        return MethodResult(
            method=name, n_trials=4, n_failed=n_failed, best=best, oracle=oracle,
            median=Estimate(value=1.0, lower=0.0, upper=math.inf), best_rank=1, worst_rank=3,
            means=dict.fromkeys(METRICS), guarantee=Guarantee(place="none"),
        )  # fmt: skip

    def said(*rows):
        found = FederationResult(params={}, n_trials=4, methods=rows, contrasts=(), groups=())
        declared = replace(NAMED["few-samples"], vary="")
        return pages.answer(
            Result(benchmark=declared, federations=(found,), stopped="x", cpu_seconds=1.0)
        )

    a, b, oracle = (
        row("a", 1, best=True),
        row("b", 0, best=True),
        row("o", 0, best=False, oracle=True),
    )
    failed, beaten = row("f", 4, best=False), row("c", 0, best=False)
    assert said(oracle, a, b, failed) == "Here the trials do not separate a and b."
    assert said(oracle, a, b, beaten) == "Here a and b are best and not separated."
    assert said(a, failed) == "Here a is best."


def test_the_table_says_which_of_two_columns_is_a_mean_and_the_unit_of_times():
    result = Result(
        benchmark=replace(NAMED["digits"], vary=""), federations=(), stopped="x", cpu_seconds=1.0
    )
    head = pages.headings(result)
    assert len(set(head)) == len(head)
    assert {"median held-out", "mean held-out", "cpu [s]"} <= set(head)
    assert "mean ari" not in head


def test_limits_on_rows_of_ones_own_are_about_splits_of_these_rows():
    own = {"data": "rows.csv", "held_share": 0.25, "k": 3}

    def notes(params, vary=""):
        found = FederationResult(params=params, n_trials=4, methods=(), contrasts=(), groups=())
        declared = replace(NAMED["few-samples"], vary=vary)
        result = Result(benchmark=declared, federations=(found,), stopped="x", cpu_seconds=1.0)
        return " ".join(pages.notes(result))

    assert "random 25% of each client's rows" in notes(own)
    assert "told 3 clusters (--clusters)" in notes(own)
    assert "told 3 clusters" not in notes(own, "k")
    mean = "A held-out loss of 1 is that of the mean of the target."
    assert mean in notes(own)
    assert mean not in notes({**own, "response": "logistic"})
    for params in ({"n": 8}, {**own, "data": "glyphs"}):
        assert "splits of these rows" not in notes(params)


def test_the_columns_of_classes_stay_where_a_method_has_no_value_in_them():
    rows = [
        MethodResult(
            method=name, n_trials=4, n_failed=0, best=True, oracle=False, best_rank=1, worst_rank=2,
            median=Estimate(value=1.0, lower=0.0, upper=2.0), guarantee=Guarantee(place="none"),
            means={**dict.fromkeys(METRICS), "accuracy": accuracy},
        )
        for name, accuracy in (("a", 0.5), ("b", None))
    ]  # fmt: skip

    def columns(*methods):
        found = FederationResult(params={}, n_trials=4, methods=methods, contrasts=(), groups=())
        return pages.of_classes(
            Result(benchmark=NAMED["glyphs"], federations=(found,), stopped="", cpu_seconds=0.0)
        )

    assert columns(*rows) == ("accuracy",)
    assert columns(rows[1]) == ()


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.tex", "T.Tex"])
def test_the_ending_of_an_export_is_read_in_any_case(tmp_path, name, monkeypatch):
    for kind in ("csv", "latex"):
        monkeypatch.setattr(pages, f"as_{kind}", lambda made, kind=kind: f"{kind} of {made}")
    kind = "csv" if name.lower().endswith("csv") else "latex"
    assert pages.write("it", tmp_path / name).read_text() == f"{kind} of it"
    with pytest.raises(InvalidParameter, match=r"must end in \.csv, \.parquet or \.tex"):
        pages.write("it", tmp_path / f"{name}x")
