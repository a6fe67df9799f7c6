"""Thresholds from trials to verdict: stated sizes, stated exponents, resuming, lost trials."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from bounds.statement import Statement, Term
from tests.stated import NOBODY
from tests.verify.toys import DOSE, tried
from trials.checks import InvalidParameter
from trials.run.engine import ensure
from trials.run.executors import make_executor
from trials.run.store import RunStore, Table
from verify.decisions.thresholds import fit_threshold, log_grid
from verify.evidence import Verdict
from verify.procedures.base import Observed, Presentation, Sampling
from verify.procedures.pages import phase_diagram
from verify.procedures.threshold import Sized, Threshold

need, d, p = sp.symbols("need d p")


def stated(expr, relation="="):
    return Statement(
        id="toy.threshold",
        title="A toy",
        publication=NOBODY,
        source="Theorem 1",
        kind="threshold",
        quantifiers="",
        observed="n",
        relation=relation,
        terms=(Term(name="size", expr=expr),),
    )


def at_a_size(expr=need, relation="=", *, needs=(100.0, 200.0), max_trials=1200, **cell):
    return Threshold(
        statement=stated(expr, relation),
        sampling=Sampling(experiment=DOSE, max_trials=max_trials, first=32),
        cells=tuple({"need": x, "slope": 6.0, **cell} for x in needs),
        size="n",
        grid=lambda _cell: log_grid(8, 2048, 4),
        success=lambda table, _cell: table["success"] > 0,
        event="success",
        margin=0.2,
    )


def scaling(expr, relation="=", power=1.0):
    cells = tuple(
        {"need": 2.0 * dd**power / pp**2, "slope": 6.0, "tag": i}
        for i, (dd, pp) in enumerate((dd, pp) for dd in (2, 8, 32) for pp in (0.5, 0.25, 0.125))
    )
    grid = [(dd, pp) for dd in (2, 8, 32) for pp in (0.5, 0.25, 0.125)]
    return replace(
        at_a_size(),
        statement=stated(expr, relation),
        cells=cells,
        grid=lambda cell: log_grid(
            max(int(cell["need"] / 9), 1), max(int(cell["need"] * 13), 2), 4
        ),
        scaling=("d", "p"),
        towards=({"d": 1}, {"p": -1}),
        values=lambda cell: dict(zip(("d", "p"), grid[cell["tag"]], strict=True)),
        margin=0.25,
    )


def verdict(tmp_path, build, seed=0):
    return tried(build, tmp_path, seed=seed)[0].verdict


def test_the_stated_size_decides(tmp_path):
    for seed, (factor, relation, expected) in enumerate(
        [
            (1, "=", Verdict.SUPPORTED),
            (2, "=", Verdict.REFUTED),
            (2, r"\le", Verdict.SUPPORTED),
            (sp.Rational(1, 2), r"\le", Verdict.REFUTED),
            (sp.Rational(1, 2), r"\ge", Verdict.SUPPORTED),
            (2, r"\ge", Verdict.REFUTED),
        ]
    ):
        assert verdict(tmp_path, at_a_size(factor * need, relation), seed) is expected


def test_the_cells_share_the_level(tmp_path):
    """A cell of two at level .05 has the trials and limits of a single cell at .025."""
    for name in ("both", "alone", "whole"):
        (tmp_path / name).mkdir()
    both, _ = tried(at_a_size(), tmp_path / "both", level=0.05)
    alone, _ = tried(at_a_size(needs=(100.0,)), tmp_path / "alone", level=0.025)
    whole, _ = tried(at_a_size(needs=(100.0,)), tmp_path / "whole", level=0.05)
    of_both = next(c for c in both.cells if c.params["need"] == 100.0)

    def seen(cell):
        return cell.n_trials, cell.lower, cell.upper, cell.se

    assert seen(of_both) == seen(alone.cells[0])
    assert seen(of_both) != seen(whole.cells[0])


@pytest.mark.parametrize(
    ("expr", "relation", "expected"),
    [
        (d / p**2, "=", Verdict.SUPPORTED),
        (d / p**2, r"\le", Verdict.SUPPORTED),
        (d**2 / p**2, r"\le", Verdict.SUPPORTED),
        (d**2 / p**2, "=", Verdict.REFUTED),
        (d / p, r"\le", Verdict.REFUTED),
        (sp.sqrt(d) / p**2, r"\le", Verdict.REFUTED),
        (d / p**3, r"\ge", Verdict.REFUTED),
    ],
)
def test_exponents_come_from_the_statement(tmp_path, expr, relation, expected):
    evidence, _ = tried(scaling(expr, relation), tmp_path)
    assert evidence.verdict is expected, evidence.summary
    table = next(t for t in evidence.tables if t.title.startswith("Growth of the threshold"))
    growth = {row[0]: row[1] for row in table.rows}
    powers = expr.as_powers_dict()
    assert growth["$d$"] == pytest.approx(1.0 - float(powers[d]), abs=0.15)
    if relation == "=":
        assert growth["$p$"] == pytest.approx(-2.0 - float(powers[p]), abs=0.25)
    else:
        assert growth[r"$\frac{1}{p}$"] == pytest.approx(2.0 + float(powers[p]), abs=0.25)


def test_the_whole_expression_is_compared_its_logarithms_included(tmp_path):
    """The true size is 2 d log(1 + d)/p^2.  A power of d alone is another order."""
    grid = [(dd, pp) for dd in (2, 8, 32) for pp in (0.5, 0.25, 0.125)]
    cells = tuple(
        {"need": 2.0 * dd * math.log(1 + dd) / pp**2, "slope": 6.0, "tag": i}
        for i, (dd, pp) in enumerate(grid)
    )
    cases = ((sp.log(1 + d) * d / p**2, Verdict.SUPPORTED), (d / p**2, Verdict.REFUTED))
    for seed, (expr, expected) in enumerate(cases):
        claim = replace(scaling(expr), cells=cells)
        assert verdict(tmp_path, claim, seed) is expected


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        (lambda m, c: 2 * m**2 / c**2, Verdict.SUPPORTED),
        (lambda m, c: 2 * m / c, Verdict.SUPPORTED),  # less than stated: a share is at most one
        (lambda m, _c: 2 * m**2, Verdict.REFUTED),  # the size of the cluster does not help
        (lambda m, c: 2 * m**3 / c**3, Verdict.REFUTED),
    ],
)
def test_a_size_that_suffices_bounds_the_growth_in_every_direction_of_the_domain(
    tmp_path, truth, expected
):
    """Stated is m^2/c^2, for clusters of c among m users: m and c grow together, or c falls."""
    sizes = [(m, c) for m in (8, 16, 32, 64, 128) for c in (2, 4, 8) if m > c]
    cells = tuple(
        {"need": float(truth(m, c)), "slope": 6.0, "tag": i} for i, (m, c) in enumerate(sizes)
    )
    claim = replace(
        scaling(p, r"\le"),
        statement=stated(sp.Symbol("m") ** 2 / sp.Symbol("c") ** 2, r"\le"),
        cells=cells,
        scaling=("m", "c"),
        towards=({"m": 1, "c": 1}, {"c": -1}),
        values=lambda cell: dict(zip(("m", "c"), sizes[cell["tag"]], strict=True)),
    )
    claim.check()
    assert tried(claim, tmp_path)[0].verdict is expected


@pytest.mark.parametrize(
    ("power", "relation", "expected"),
    [
        (0, r"\le", "SUPPORTED"),
        (1, r"\le", "REFUTED"),
        (-1, r"\le", "REFUTED"),
        (1, "=", "REFUTED"),
    ],
)
def test_a_symbol_outside_the_scaling_is_tried_towards_both_ends(
    tmp_path, power, relation, expected
):
    """The size is 2 d/p^2 whatever x is.  Nothing is known of the domain of x."""
    build = scaling(d / p**2, relation)
    claim = replace(
        build,
        statement=stated(sp.Symbol("x") ** power * d / p**2, relation),
        values=lambda cell: {**build.values(cell), "x": (1.0, 8.0, 2.0, 4.0)[cell["tag"] % 4]},
    )
    claim.check()
    assert verdict(tmp_path, claim) == expected


def test_a_symbol_that_no_cell_varies_is_a_number_in_a_changed_statement(tmp_path):
    """A claim that names it is refused.  Changed so, the statement lacks d, and d matters."""
    build = scaling(d / p**2, r"\le")
    claim = replace(
        build,
        statement=stated(sp.Symbol("slope") / p**2, r"\le"),
        values=lambda cell: {**build.values(cell), "slope": cell["slope"]},
    )
    assert claim.with_numbers().statement.expr == 6.0 / p**2
    assert verdict(tmp_path, claim.with_numbers()) is Verdict.REFUTED


def test_a_fixed_symbol_is_a_number():
    grid = {"d": 2.0, "p": 0.5}
    build = scaling(d / p**2, r"\le")
    claim = replace(build, values=lambda cell: {"d": build.values(cell)["d"], **cell})
    claim = replace(claim, cells=tuple({**c, "p": build.values(c)["p"]} for c in build.cells))
    fixed = claim.override({"p": grid["p"]})
    assert fixed.scaling == ("d",)
    assert fixed.statement.expr == 4.0 * d
    with pytest.raises(InvalidParameter, match="no direction is left for d"):
        replace(claim, towards=({"d": 1, "p": 1}, {"p": -1})).override({"p": grid["p"]})


def test_a_step_is_bracketed_and_said_to_be(tmp_path):
    evidence, _ = tried(at_a_size(law="step"), tmp_path)
    assert evidence.verdict is Verdict.SUPPORTED
    assert any("middle of a gap" in note for note in evidence.notes)
    assert all(cell.lower <= cell.params["need"] <= cell.upper for cell in evidence.cells)


def test_a_threshold_beyond_the_grid_is_inconclusive(tmp_path):
    far = at_a_size(needs=(1e6,))
    evidence, _ = tried(replace(far, statement=stated(need)), tmp_path)
    assert evidence.verdict is Verdict.INCONCLUSIVE
    assert "above the largest size" in evidence.cells[0].note
    above = replace(far, statement=stated(sp.Integer(10), r"\le"))
    assert verdict(tmp_path, above, 1) is Verdict.REFUTED  # ten is not enough, whatever is


def test_failed_trials_are_no_successes(tmp_path):
    """Three in ten are lost: success one half is reached where it would be 5/7."""
    evidence, _ = tried(at_a_size(need, r"\le", lost=0.3, needs=(100.0,)), tmp_path)
    assert evidence.n_failed > 0
    assert evidence.cells[0].observed > 110


def lost_at(build, sizes):
    """`DOSE` with a third of the trials lost at each size, as the claim counts the draws."""
    drawn = [
        Observed(params={"n": size}, table=Table(
            columns=("success",),
            values=np.where(np.arange(96) % 3 == 0, np.nan, float(size > 100))[:, None],
            failed=np.arange(96) % 3 == 0,
            reasons=(),
        ))
        for size in sizes
    ]  # fmt: skip
    return [build._count(o) for o in drawn]


@pytest.mark.parametrize(
    ("relation", "counted"),
    [(r"\le", [(0, 96), (64, 96)]), (r"\ge", [(32, 96), (96, 96)]), ("=", [(0, 96), (64, 96)])],
)
def test_failed_trials_count_on_the_side_that_speaks_against_the_statement(relation, counted):
    """More are needed where they are no successes, fewer where they are."""
    assert lost_at(at_a_size(relation=relation), [50, 200]) == counted


@pytest.mark.parametrize(
    ("relation", "factor", "lost", "supported"),
    [
        (r"\ge", 0.8, 0.0, True),
        (r"\ge", 1.2, 0.3, False),
        ("=", 1.0, 0.0, True),
        ("=", 1.26, 0.3, False),
    ],
)
def test_no_failed_trial_speaks_for_a_stated_threshold(tmp_path, relation, factor, lost, supported):
    """Success is even at 100.  Where 30 per cent are lost it is even at 126, with them at 80."""
    settings = {"needs": (100.0,), "slope": 4.0, "max_trials": 2048, "lost": lost}
    evidence, _ = tried(at_a_size(factor * need, relation, **settings), tmp_path)
    assert (evidence.verdict is Verdict.SUPPORTED) is supported
    assert (evidence.n_failed > 0) is (lost > 0)


def test_one_size_with_failed_trials_is_enough_for_the_other_count():
    build = at_a_size()
    design = build._design(build.cells[0], 0.05)
    table = Table(
        columns=("success",),
        values=np.ones((96, 1)),
        failed=np.arange(96) < 32,
        reasons=tuple((i, "lost") for i in range(32)),
    )
    whole = replace(table, failed=np.zeros(96, dtype=bool), reasons=())
    for lost, expected in ((whole, False), (table, True)):
        drawn = [Observed(params={"n": 50}, table=whole), Observed(params={"n": 60}, table=lost)]
        counts = {o.params["n"]: build._count(o) for o in drawn}
        sized = build._sized(design, build.cells[0], counts, drawn)
        assert (sized.otherwise is not None) is expected
        if expected:
            assert sized.otherwise == design.fit({50: (96, 96), 60: (96, 96)})
            assert sized.fit == design.fit({50: (96, 96), 60: (64, 96)})


def test_an_equality_of_growth_holds_with_failed_trials_as_successes_and_without():
    """Without them the required constant is one in all cells.  With them it grows like d."""
    build = scaling(d / p**2)

    def fit(cell, threshold):
        sizes = [threshold * 2.0**k for k in (-2, -1, 0, 1, 2)]
        successes = (0, 4, 16, 28, 32)
        return fit_threshold(sizes, successes, [32] * 5, level=0.05)

    fits = [fit(cell, cell["need"]) for cell in build.cells]
    grown = [fit(cell, cell["need"] * build.values(cell)["d"]) for cell in build.cells]
    unknown = [replace(f, profile=(f.profile[0], math.inf)) for f in fits]
    for second, expected in (
        ([None] * len(fits), Verdict.SUPPORTED),
        (fits, Verdict.SUPPORTED),
        (grown, Verdict.REFUTED),
        (unknown, Verdict.INCONCLUSIVE),
    ):
        sized = [
            Sized(params=c, counts={}, observed=(), fit=f, otherwise=g)
            for c, f, g in zip(build.cells, fits, second, strict=True)
        ]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Threshold, "_select_sized", lambda *_, found=sized: found)
            assert build.decide(None, 0.05).verdict is expected


def test_stopping_and_going_on_changes_nothing(tmp_path):
    build = at_a_size()
    whole, rounds = tried(build, tmp_path, seed=1)
    assert len(rounds) > 5
    with (
        RunStore.create(tmp_path / "other", root_seed=1, config={}) as store,
        make_executor("serial", 1) as executor,
    ):
        demands = build.demands(store, 0.05)
        ensure(store, demands, executor)  # stored for another claim: more than one step wants
        ensure(store, [replace(demand, n_blocks=9) for demand in demands], executor)
        while demands := build.demands(store, 0.05):
            ensure(store, demands, executor)
        assert build.decide(store, 0.05) == whole


def test_checks_overrides_and_description():
    build = scaling(d / p**2, r"\le")
    build.check()
    assert build.side == "at most"
    for part in ("9 cells", "must not grow", "bisection", "HC3", "test.dose"):
        assert part in build.describe()
    assert replace(build, statement=stated(d / p**2)).directions == ({"d": 1.0}, {"p": 1.0})
    with pytest.raises(InvalidParameter, match="contains k, of which no cell has a value"):
        replace(build, statement=stated(sp.Symbol("k") * d / p, r"\le")).check()
    with pytest.raises(InvalidParameter, match="do not vary slope"):
        replace(
            build,
            statement=stated(sp.Symbol("slope") * d / p, r"\le"),
            values=lambda cell: {**build.values(cell), "slope": cell["slope"]},
        ).check()
    with pytest.raises(InvalidParameter, match=r"\(towards\) for each of d, p, not for d"):
        replace(build, towards=({"d": 1},)).check()
    with pytest.raises(InvalidParameter, match="no parameter varies"):
        build.override({"tag": 0})
    with pytest.raises(InvalidParameter, match=r"the cell fixes n=5"):
        replace(build, cells=({"need": 1.0, "n": 5},)).check()
    with pytest.raises(InvalidParameter, match="do not vary d"):
        replace(build, cells=build.cells[:3]).check()
    with pytest.raises(InvalidParameter, match="must be positive in every cell"):
        replace(build, statement=stated(d - 2)).check()
    assert [c["need"] for c in at_a_size().override({"need": 50.0}).cells] == [50.0]


def test_the_page_gets_the_trials_of_every_size_that_was_tried(tmp_path):
    def page(observed):
        return Presentation(
            figures=(
                phase_diagram(
                    observed,
                    lambda table, _cell: table["success"] > 0,
                    "success",
                    x=lambda cell: cell["n"],
                    y=lambda cell: cell["need"],
                    group=lambda cell: f"need {cell['need']:g}",
                    xlabel="n",
                    ylabel="need",
                ),
            )
        )

    own, drawn = tried(replace(at_a_size(), present=page), tmp_path)[0].figures
    assert [s.label for s in drawn.series] == ["need 100", "need 200"]
    for counted, mapped in zip(own.series, drawn.series, strict=True):
        shares = dict(zip(mapped.x, mapped.shade, strict=True))
        assert shares == dict(zip(counted.x, counted.y, strict=True))
        assert min(shares.values()) < 0.5 < max(shares.values())


def test_the_bars_of_the_figure_leave_a_fortieth_of_the_binomial_on_each_side():
    build = at_a_size()
    counts = {90: (0, 32), 60: (7, 32), 120: (30, 33), 200: (32, 32)}
    fit = build._design(build.cells[0], 0.05).fit(counts)
    cell = Sized(params=build.cells[0], counts=counts, observed=(), fit=fit)
    (drawn,) = build._figure([cell]).series
    assert list(drawn.x) == [60.0, 90.0, 120.0, 200.0]

    def at_most(successes, trials, share):
        return math.fsum(
            math.comb(trials, i) * share**i * (1 - share) ** (trials - i)
            for i in range(successes + 1)
        )

    for size, y, lower, upper in zip(drawn.x, drawn.y, drawn.lower, drawn.upper, strict=True):
        successes, trials = counts[int(size)]
        assert y == successes / trials
        if successes:
            assert 1 - at_most(successes - 1, trials, lower) == pytest.approx(0.025, rel=1e-6)
        else:
            assert lower == 0
        if successes < trials:
            assert at_most(successes, trials, upper) == pytest.approx(0.025, rel=1e-6)
        else:
            assert upper == 1


@pytest.mark.parametrize(
    ("successes", "reason"), [(0, "above the largest"), (32, "below the smallest")]
)
def test_a_scaling_with_a_cell_without_a_threshold_is_inconclusive(successes, reason):
    """Its growth would be that of the cells that are left, and the lost one is not at random."""
    build = scaling(d / p**2)
    sized = []
    for cell in build.cells:
        sizes = [max(round(cell["need"] * 2.0**k), 1) for k in (-2, -1, 0, 1, 2)]
        counts = dict(zip(sizes, [(s, 32) for s in (0, 4, 16, 28, 32)], strict=True))
        fit = build._design(cell, 0.05).fit(counts)
        sized.append(Sized(params=cell, counts=counts, observed=(), fit=fit))
    verdict, _, rows, _ = build.compare_growth(sized, 0.05)
    assert verdict is Verdict.SUPPORTED
    assert len(rows) == 2
    counts = dict.fromkeys(sized[4].counts, (successes, 32))
    fit = build._design(sized[4].params, 0.05).fit(counts)
    lost = [*sized[:4], replace(sized[4], counts=counts, fit=fit), *sized[5:]]
    verdict, summary, rows, sharpness = build.compare_growth(lost, 0.05)
    assert verdict is Verdict.INCONCLUSIVE
    assert summary == (f"no threshold in 1 of 9 cells: the threshold may lie {reason} size tried")
    assert rows == sharpness == []


def test_the_fingerprint_is_the_side_and_the_stated_size_of_every_cell():
    build = at_a_size(3 * need, r"\le")
    assert build.fingerprint() == ["at most", [300.0, 600.0]]
    assert at_a_size(need + need).fingerprint() == at_a_size(2 * need).fingerprint()
    assert at_a_size(3 * need, r"\ge").fingerprint() != build.fingerprint()
