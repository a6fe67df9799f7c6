"""Faults that once survived.  Each stays listed, so that the test that finds it stays sharp."""

from __future__ import annotations

from pathlib import Path

from tests.faults.planting import Fault, located

#: (path, text, its replacement).  The text occurs once in the file.
KNOWN: tuple[tuple[str, str, str], ...] = (
    # the error level and its shares
    (
        "verify/decisions/constants/decision.py",
        "find_feasible(everything, live, choices, level / 2)",
        "find_feasible(everything, live, choices, level)",
    ),
    (
        "verify/decisions/constants/feasibility.py",
        "split = level / len(live)",
        "split = level",
    ),
    (
        "verify/decisions/constants/drift.py",
        "refuting = fit.limits(name, level, family=family)",
        "refuting = fit.limits(name, level)",
    ),
    (
        "verify/decisions/constants/drift.py",
        "supporting = fit.limits(name, 2 * level)",
        "supporting = fit.limits(name, level)",
    ),
    (
        "verify/decisions/probability.py",
        "confidence_sequence(counted.bad, n, level / q.size, prior)",
        "confidence_sequence(counted.bad, n, level, prior)",
    ),
    (
        "verify/decisions/probability.py",
        "falls_below(bad, n, target, confirm, prior_target)",
        "falls_below(bad, n, target, split, prior_target)",
    ),
    (
        "verify/decisions/rates.py",
        "quantile = _t_quantile(level / 2, n_used - 1)",
        "quantile = _t_quantile(level, n_used - 1)",
    ),
    (
        "verify/decisions/rates.py",
        "lower=math.exp(mean - quantile * se - bias)",
        "lower=math.exp(mean - quantile * se)",
    ),
    (
        "verify/decisions/rates.py",
        "_measure(log_e[1::2, start:]",
        "_measure(log_e[:, start:]",
    ),
    (
        "verify/procedures/rate.py",
        "level=level / len(observed)",
        "level=level",
    ),
    (
        "verify/decisions/familywise.py",
        "weight / total",
        "1.0 / total",
    ),
    (
        "verify/decisions/sequences.py",
        "return float(x[rank - 1]) if rank > 0 else -math.inf",
        "return float(x[rank]) if rank > 0 else -math.inf",
    ),
    (
        "verify/decisions/sequences.py",
        "if np.all(np.abs(step) <=",
        "if np.any(np.abs(step) <=",
    ),
    (
        "verify/decisions/means.py",
        "np.arange(max(math.ceil(math.log(horizon / 16.0, 4)), 0)",
        "np.arange(min(math.ceil(math.log(horizon / 16.0, 4)), 0)",
    ),
    (
        "verify/decisions/rates.py",
        "check_level(level)\n    log_y",
        "log_y",
    ),
    # the logic of verdicts
    (
        "verify/decisions/constants/decision.py",
        'missing.append(f"extrapolation {held_out.verdict.value}: {held_out.summary}")',
        "pass",
    ),
    (
        "verify/decisions/structured.py",
        '_check_sizes(self.name, "points", self.points)',
        "pass",
    ),
    (
        "verify/decisions/structured.py",
        "low * (high / low) ** u",
        "low * (high / low * u)",
    ),
    (
        "verify/procedures/rate.py",
        "readable = fit.resolved and fit.n_failed == 0",
        "readable = fit.resolved",
    ),
    (
        "verify/decisions/combine.py",
        "order = (Verdict.REFUTED, Verdict.INCONCLUSIVE, Verdict.SUPPORTED)",
        "order = (Verdict.SUPPORTED, Verdict.INCONCLUSIVE, Verdict.REFUTED)",
    ),
    (
        "verify/procedures/rate.py",
        "deviation / math.sqrt(values.size)",
        "deviation",
    ),
    (
        "verify/decisions/constants/problem.py",
        "rank = cell.n_trials - 1 - self._allowed(corner, cell)",
        "rank = cell.n_trials - 2 - self._allowed(corner, cell)",
    ),
    (
        "verify/decisions/constants/extrapolation.py",
        'max(reach["jointly"], beyond[1])',
        'max(reach["jointly"], beyond[0])',
    ),
    (
        "verify/procedures/constants.py",
        "np.where(read.table.failed, np.inf, self.statistic(read.table, cell))",
        "self.statistic(read.table, cell)",
    ),
    (
        "verify/procedures/constants.py",
        'in_drift=role != "elsewhere"',
        "in_drift=True",
    ),
    (
        "verify/decisions/search.py",
        "return bool(mpmath.mpf(self.recheck(point)) > 0)",
        "return True",
    ),
    (
        "verify/procedures/search.py",
        "return replace(self, domain=domain.fix(values))",
        "return self",
    ),
    (
        "verify/procedures/base.py",
        "    if first is not None and not distinct:\n        raise first\n",
        "",
    ),
    (
        "verify/procedures/probability.py",
        "failed = tuple(o.table.n_failed for o in observed)",
        "failed = tuple(0 for o in observed)",
    ),
    (
        "verify/claim.py",
        "names.index(profile) >= names.index(self.smallest_profile)",
        "names.index(profile) > names.index(self.smallest_profile)",
    ),
    (
        "verify/procedures/constants.py",
        "index = int(np.argmax(data[first].statistic > bound))",
        "index = int(np.argmin(data[first].statistic > bound))",
    ),
    (
        "verify/procedures/rate.py",
        "lower=[math.exp(s[2]) for s in fit.steps]",
        "lower=[math.exp(s[3]) for s in fit.steps]",
    ),
    (
        "verify/procedures/vacuity.py",
        "smallest: float = 1.0",
        "smallest: float = 2.0",
    ),
    # the store and the engine
    (
        "trials/run/store/verification.py",
        "compact([*cell[1:], block, n_rows, n_columns, reasons])",
        "compact([*cell[1:], block, n_rows, n_columns])",
    ),
    (
        "trials/run/store/connection.py",
        'self._connection.execute("BEGIN IMMEDIATE")',
        "pass",
    ),
    (
        "trials/run/store/connection.py",
        'self._connection.execute("COMMIT")',
        "pass",
    ),
    (
        "trials/run/engine.py",
        "                    held.add(raised.let_through(task, result))\n",
        "                    pass\n",
    ),
    (
        "trials/run/engine.py",
        "now_status == status and apart <= ROUNDING",
        "apart <= ROUNDING",
    ),
    (
        "trials/run/block.py",
        "except (MemoryError, OSError):",
        "except OSError:",
    ),
    # numerics
    (
        "trials/laws/wishart.py",
        "rng.chisquare(n - 1.0)",
        "rng.chisquare(n)",
    ),
    (
        "trials/clustering/convex/weighted_certificate.py",
        "total += float((2.0 * lam * towards @ ties.doubt[row]).sum())",
        "total += 0.0",
    ),
    # reports
    (
        "reports/marks.py",
        "ax.errorbar(x, y, yerr=[down, up],",
        "ax.errorbar(x, y,",
    ),
    (
        "reports/tables.py",
        '["" if v is None else spreadsheet_text(v) for v in row]',
        '["0" if v is None else spreadsheet_text(v) for v in row]',
    ),
    # faults of meaning that a first list of forty had
    (
        "verify/proofs/terms.py",
        "return flint.arb(flint.fmpq(exact.numerator, exact.denominator))",
        "return flint.arb(flint.fmpq(exact.numerator, exact.denominator)).mid()",
    ),
    ("verify/proofs/terms.py", '"log": lambda x: x.log(),', '"log": lambda x: x.log().mid(),'),
    (
        "trials/run/store/reading.py",
        "(block.number * size + row, why)",
        "((block.number - blocks[0].number) * size + row, why)",
    ),
    (
        "verify/decisions/suprema.py",
        "n_trials = [r.size + n for r, n in zip(ratios, lost, strict=True)]",
        "n_trials = [r.size for r in ratios]",
    ),
    (
        "verify/decisions/means.py",
        "values[np.asarray(failed, dtype=np.bool_) | np.isnan(values)] = worst",
        "values[np.isnan(values)] = worst",
    ),
    (
        "verify/decisions/constants/decision.py",
        "params=dict(problem.cells[tried.held_out_cells[worst]].params)",
        "params=dict(problem.cells[worst].params)",
    ),
    (
        "verify/decisions/constants/decision.py",
        "if math.isnan(room[k]) or not attempt(k).rejected]",
        "if not math.isnan(room[k]) and not attempt(k).rejected]",
    ),
    (
        "verify/decisions/constants/extrapolation.py",
        'if problem.cells[i].role == "held-out")',
        'if problem.cells[i].role != "")',
    ),
    (
        "verify/decisions/probability.py",
        "split = level / max(n_live, 1)",
        "split = level",
    ),
    (
        "verify/mutation/score.py",
        'except REFUSALS as error:\n            return describe(mutant, "not tried", '
        "why=in_one_line(error))\n        if evidence.verdict is Verdict.REFUTED:\n"
        '            return describe(mutant, "refuted", evidence)\n',
        "except REFUSALS as error:\n"
        "            lost = isinstance(error, (OverflowError, MemoryError))\n"
        '            return describe(mutant, "refuted" if lost else "not tried")\n'
        "        if evidence.verdict is Verdict.REFUTED:\n"
        '            return describe(mutant, "refuted", evidence)\n',
    ),
    (
        "trials/laws/noise.py",
        "for first in range(0, n_trials, chunk):",
        "for first in range(0, max(n_trials - chunk + 1, 1), chunk):",
    ),
    (
        "trials/ifca/loss_hulls.py",
        "slack = blur * size * size + TINY",
        "slack = blur * abs(square) + TINY",
    ),
    (
        "trials/ifca/loss_hulls.py",
        "(least - upper[best]) / max(norm, 1e-300)",
        "1.001 * (least - upper[best]) / max(norm, 1e-300)",
    ),
    (
        "trials/clustering/convex/certificate.py",
        "reach = max(reach, float(np.abs(v).max() * math.sqrt(d)))",
        "reach = float(np.abs(v - b).max() * math.sqrt(d))",
    ),
    (
        "trials/clustering/kmeans/assignment.py",
        "(single * (d + 4) * radius + double)",
        "(single * math.sqrt(d) * radius + double)",
    ),
    (
        "reports/claim_tables.py",
        "values = [getattr(c, key) for c in cells]",
        "values = [getattr(c, key) for c in shown]",
    ),
    (
        "reports/collect.py",
        ".setdefault(name, claim.verdict)",
        "[name] = claim.verdict",
    ),
    (
        "trials/run/engine.py",
        "if not changed and stored <= {present.digest}:",
        "if not changed:",
    ),
    ("bounds/gaussian.py", "while i > 0 and term", "while i > 1 and term"),
)


#: The tests that look at a folder's listed faults.  Small files, so that a fault takes seconds.
TESTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("verify/proofs/", ("tests/verify/proofs/test_terms.py",)),
    ("verify/mutation/", ("tests/verify/mutation/test_score.py",)),
    ("verify/decisions/suprema", ("tests/verify/decisions/test_suprema.py",)),
    (
        "verify/decisions/probability",
        (
            "tests/verify/decisions/test_probability.py",
            "tests/verify/decisions/test_error_control.py",
        ),
    ),
    ("verify/decisions/structured", ("tests/verify/decisions/test_structured.py",)),
    ("verify/decisions/means", ("tests/verify/decisions/test_means.py",)),
    ("verify/decisions/familywise", ("tests/verify/decisions/test_familywise.py",)),
    (
        "verify/decisions/search",
        ("tests/verify/procedures/test_search.py", "tests/verify/decisions/test_search.py"),
    ),
    (
        "verify/decisions/",
        (
            "tests/verify/decisions/test_conclusions.py",
            "tests/verify/decisions/test_error_control.py",
            "tests/verify/decisions/test_sequences.py",
            "tests/verify/decisions/test_constants.py",
        ),
    ),
    ("verify/procedures/search", ("tests/verify/procedures/test_search.py",)),
    ("verify/procedures/vacuity", ("tests/verify/procedures/test_vacuity.py",)),
    ("verify/procedures/base", ("tests/verify/procedures/test_base.py",)),
    ("verify/procedures/probability", ("tests/verify/procedures/test_probability.py",)),
    (
        "verify/procedures/",
        (
            "tests/verify/procedures/test_error_control.py",
            "tests/verify/procedures/test_rate.py",
            "tests/verify/procedures/test_constants.py",
        ),
    ),
    ("verify/claim", ("tests/verify/test_claim.py",)),
    (
        "trials/run/store/",
        ("tests/trials/run/test_store.py", "tests/trials/run/test_store_blocks.py"),
    ),
    ("trials/run/", ("tests/trials/run/test_engine.py",)),
    ("trials/laws/noise", ("tests/trials/laws/test_noise.py",)),
    ("trials/laws/", ("tests/trials/laws/test_wishart.py",)),
    ("trials/ifca/", ("tests/trials/ifca/test_loss_hulls.py",)),
    ("trials/clustering/kmeans/", ("tests/trials/clustering/test_kmeans_assignment.py",)),
    ("trials/clustering/", ("tests/trials/clustering/test_convex_proofs.py",)),
    ("reports/figures", ("tests/reports/test_figures.py",)),
    ("reports/marks", ("tests/reports/test_figures.py",)),
    ("reports/claim_tables", ("tests/reports/test_claim_tables.py",)),
    ("reports/collect", ("tests/reports/test_collect.py",)),
    ("reports/", ("tests/reports/test_tables.py",)),
    ("bounds/", ("tests/bounds/test_gaussian.py",)),
)


def tests_of_known(fault: Fault) -> tuple[str, ...]:
    """The tests that find a listed fault."""
    return next(tests for start, tests in TESTS if fault.path.startswith(start))


def known_faults(root: Path) -> list[Fault]:
    """The listed faults at their places of today.

    Raises
    ------
    ValueError
        When a listed text does not occur exactly once.
    """
    found = []
    for listed, old, new in KNOWN:
        path = located(root, listed, old)
        source = (root / path).read_text()
        start = source.index(old)
        found.append(Fault(path, start, old, new, "known", source.count("\n", 0, start) + 1))
    return found
