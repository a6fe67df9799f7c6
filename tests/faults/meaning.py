"""Faults of meaning, written by hand: wrong lines that a reader might write and believe.

A fault that is drawn flips an operator somewhere.  These stand in rare places: a branch for few
inputs, a size above a block, an extended or resumed run, a failed trial, a tie, the direction of a
rounding.  Each is tried on the tests named beside it, which are tests with an oracle of their own
and no recorded values.

``python -m tests.faults --meaning`` tries them all.  An entry whose text has been rewritten is
stale: write the fault anew at its new place, or drop the entry where the place is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.faults.planting import Fault, located


class Meaning(NamedTuple):
    """A wrong line.

    Attributes
    ----------
    path : the module.
    old, new : the text, which occurs once in the module, and the wrong one.
    means : what the wrong line says, in words.
    tests : files of tests that should find it, below `tests/` and without their ending.
    missed : whether no test found it when it was written.
    """

    path: str
    old: str
    new: str
    means: str
    tests: str
    missed: bool = False

    @property
    def suite(self) -> str:
        """The tests as arguments of pytest."""
        return " ".join(f"tests/{name}.py" for name in self.tests.split())


DECISIONS = "verify/decisions/"
PROCEDURES = "verify/procedures/"
STORE = "trials/run/store/"

MEANINGS: tuple[Meaning, ...] = (
    # -- decisions: levels and limits
    Meaning(
        DECISIONS + "probability.py",
        "upper = np.fmin(confidence_sequence",
        "upper = np.minimum(confidence_sequence",
        "a cell without an exact law has no upper limit",
        "verify/decisions/test_probability verify/procedures/test_stored_trials",
    ),
    Meaning(
        DECISIONS + "probability.py",
        "bad = bad + lost",
        "bad = np.maximum(bad, lost)",
        "failed trials count only where they outnumber the bad ones",
        "verify/decisions/test_probability verify/procedures/test_probability",
    ),
    Meaning(
        DECISIONS + "probability.py",
        "ratio = np.where(trivial, -np.inf, badness",
        "ratio = np.where(False, -np.inf, badness",
        "the worst cell may be one where the statement allows everything",
        "verify/decisions/test_probability verify/procedures/test_stored_trials",
        missed=True,
    ),
    Meaning(
        DECISIONS + "sequences.py",
        "return float(x[good[-1] - 1]) if good.size else -math.inf",
        "return float(x[min(good[-1], n - 1)]) if good.size else -math.inf",
        "the lower limit of a quantile at any time is one rank too high",
        "verify/decisions/test_sequences verify/decisions/test_error_control",
    ),
    Meaning(
        DECISIONS + "sequences.py",
        "rank = int(binom.isf(level, n, q)) + 1",
        "rank = int(binom.isf(level, n, q))",
        "the upper limit of a quantile fails more often than its level",
        "verify/decisions/test_sequences verify/decisions/test_error_control",
    ),
    Meaning(
        DECISIONS + "sequences.py",
        "return np.sort(np.where(np.isnan(x), np.inf, x))",
        "return np.sort(x[~np.isnan(x)])",
        "failed trials leave the sample of a quantile",
        "verify/decisions/test_sequences verify/decisions/test_error_control",
    ),
    Meaning(
        DECISIONS + "sequences.py",
        "shapes = prior_for(delta) if prior is None else prior",
        "shapes = _JEFFREYS if prior is None else prior",
        "planning and deciding use different priors",
        "verify/decisions/test_sequences",
    ),
    Meaning(
        DECISIONS + "comparisons.py",
        "np.where(a > b, 1.0, np.where(a == b, 0.5, 0.0))",
        "np.where(a > b, 1.0, 0.0)",
        "ties speak for the left method",
        "verify/decisions/test_comparisons verify/procedures/test_comparison",
    ),
    Meaning(
        DECISIONS + "comparisons.py",
        "level=self.refute_level / share if side < 0",
        "level=self.refute_level if side < 0",
        "the limit of a ratio of equal methods is not shared between two sides",
        "verify/decisions/test_comparisons verify/procedures/test_comparison",
        missed=True,
    ),
    Meaning(
        DECISIONS + "comparisons.py",
        "(five(total) - five(n) - five(ties)) / 72",
        "(five(total) - five(n)) / 72",
        "the variance of the trend's statistic ignores ties",
        "verify/decisions/test_comparisons verify/procedures/test_comparison",
    ),
    Meaning(
        DECISIONS + "comparisons.py",
        "self.refute_level / (k * (k - 1))",
        "self.refute_level / (k - 1)",
        "the level of a trend is split over steps and not over pairs",
        "verify/decisions/test_comparisons verify/decisions/test_error_control",
        missed=True,
    ),
    Meaning(
        DECISIONS + "comparisons.py",
        "self._limits(g, self.support_level / 2)",
        "self._limits(g, self.support_level)",
        "a fall is bounded by two limits that both spend the whole level",
        "verify/decisions/test_comparisons verify/decisions/test_error_control",
    ),
    Meaning(
        DECISIONS + "reproductions.py",
        "strict = self.refute_level / 2",
        "strict = self.refute_level",
        "two sides of a printed number spend the whole level each",
        "verify/decisions/test_reproductions verify/procedures/test_reproduction",
        missed=True,
    ),
    Meaning(
        DECISIONS + "reproductions.py",
        ".rejects(x, value + widening)",
        ".rejects(x, value - widening)",
        "the error of the paper's own mean makes its number easier to contradict",
        "verify/decisions/test_reproductions verify/procedures/test_reproduction",
    ),
    Meaning(
        DECISIONS + "rates.py",
        "lower=math.exp(mean - quantile * se - bias) if readable.all() else 0.0",
        "lower=math.exp(mean - quantile * se - bias)",
        "trials that reach zero error leave the lower limit of the factor as it is",
        "verify/decisions/test_rates verify/procedures/test_rate",
        missed=True,
    ),
    Meaning(
        DECISIONS + "rates.py",
        "finite = np.all(np.isfinite(e) & (e >= 0), axis=1)",
        "finite = np.isfinite(e[:, -1]) & (e[:, -1] >= 0)",
        "a trial that was infinite on its way is no failed trial",
        "verify/decisions/test_rates verify/procedures/test_rate",
        missed=True,
    ),
    Meaning(
        DECISIONS + "rates.py",
        "identified = float(leverage.max()) < 1.0 - 1e-9",
        "identified = True",
        "an exponent that one cell carries alone has a finite error",
        "verify/decisions/test_rates verify/procedures/test_rate",
    ),
    Meaning(
        DECISIONS + "rates.py",
        "if floor is None else float(floor)",
        "if floor is None else max(float(floor), float(np.median(e[0::2, -tail:])))",
        "a floor that the caller knows is replaced by a larger one that is measured",
        "verify/decisions/test_rates verify/procedures/test_rate",
    ),
    Meaning(
        DECISIONS + "thresholds.py",
        "target, level / _SEQUENTIAL) for link in links]",
        "target, level) for link in links]",
        "limits of a sequential design are those of a fixed one",
        "verify/decisions/test_thresholds verify/procedures/test_threshold",
    ),
    Meaning(
        DECISIONS + "thresholds.py",
        "lower = math.exp(min(p.lower for p in kept))",
        "lower = math.exp(kept[0].lower)",
        "the lower limit of a threshold is that of one link and not of all",
        "verify/decisions/test_thresholds verify/procedures/test_threshold",
    ),
    Meaning(
        DECISIONS + "thresholds.py",
        "open_high = high >= highest or s[-1] < target * t[-1]",
        "open_high = high >= highest",
        "a threshold beyond every tried size has an upper limit",
        "verify/decisions/test_thresholds verify/procedures/test_threshold",
        missed=True,
    ),
    Meaning(
        DECISIONS + "thresholds.py",
        "share = level / max(sizes.size, n_levels or 0)",
        "share = level / sizes.size",
        "sizes that could have been tried take no share of the level",
        "verify/decisions/test_thresholds verify/procedures/test_threshold",
    ),
    Meaning(
        DECISIONS + "means.py",
        "if finite.size < x.size:\n            return math.inf",
        "if finite.size < x.size:\n            x = finite",
        "an infinite trial leaves the mean's lower limit finite",
        "verify/decisions/test_means verify/procedures/test_mean_bound",
    ),
    Meaning(
        DECISIONS + "means.py",
        "return math.inf if room < 0 or bool(np.any(x > knowledge.low)) else 0.0",
        "return math.inf",
        "values that all lie at the lower end reject a mean at the lower end",
        "verify/decisions/test_means verify/procedures/test_mean_bound",
        missed=True,
    ),
    Meaning(
        DECISIONS + "means.py",
        '"at least": (self.support_level, self.refute_level),',
        '"at least": (self.refute_level, self.support_level),',
        "the shown limits of a lower bound have each other's level",
        "verify/decisions/test_means verify/procedures/test_mean_bound",
        missed=True,
    ),
    Meaning(
        DECISIONS + "means.py",
        "b, half = self.bound, self.refute_level / 2",
        "b, half = self.bound, self.refute_level",
        "an equality of means is refuted from two sides at the whole level each",
        "verify/decisions/test_means verify/decisions/test_error_control",
        missed=True,
    ),
    Meaning(
        DECISIONS + "means.py",
        'worst = knowledge.low if side == "at least" else knowledge.high',
        "worst = knowledge.high",
        "a failed trial speaks for a lower bound of a mean",
        "verify/decisions/test_means verify/procedures/test_mean_bound",
    ),
    Meaning(
        DECISIONS + "familywise.py",
        "selection: alone[selection] * PAPER_SHARE * weights[claim]",
        "selection: level * PAPER_SHARE * weights[claim]",
        "a claim that is selected twice takes its share twice",
        "verify/decisions/test_familywise",
    ),
    Meaning(
        DECISIONS + "constants/drift.py",
        '"grows" if min(halves) > margin else "uneven"',
        '"grows" if max(halves) > margin else "uneven"',
        "a constant that shifts once is called growing",
        "verify/decisions/test_constants",
    ),
    Meaning(
        DECISIONS + "constants/drift.py",
        "allowed = min(margin, logarithm_slope(x, name, direction))",
        "allowed = margin",
        "growth like a logarithm passes where the range is wide",
        "verify/decisions/test_constants",
    ),
    Meaning(
        DECISIONS + "constants/problem.py",
        "math.floor(n * min(self.looked_at(corner, cell), 1.0) + 1e-9)",
        "math.ceil(n * min(self.looked_at(corner, cell), 1.0) - 1e-9)",
        "the required constant leaves one violation too many",
        "verify/decisions/test_constants",
        missed=True,
    ),
    Meaning(
        DECISIONS + "constants/problem.py",
        "cell.log_tail(float(np.min(self.bound_at(corner, cell))))",
        "cell.log_tail(float(np.mean(self.bound_at(corner, cell))))",
        "an exact law is read at the mean of a bound that varies between trials",
        "verify/decisions/test_constants verify/procedures/test_constants",
        missed=True,
    ),
    Meaning(
        DECISIONS + "constants/calibration.py",
        "frozen[name] = min(max(relaxed, c.low), c.high)",
        "frozen[name] = relaxed",
        "frozen constants leave their box",
        "verify/decisions/test_constants verify/procedures/test_constants",
        missed=True,
    ),
    Meaning(
        DECISIONS + "constants/decision.py",
        "everything.bound_at(tried.calibration.fitted, cell)",
        "everything.bound_at(tried.calibration.frozen, cell)",
        "a bound is called vacuous after its constants were relaxed",
        "verify/decisions/test_constants verify/procedures/test_constants",
        missed=True,
    ),
    Meaning(
        DECISIONS + "constants/decision.py",
        "not any(find_feasible(problem, live, choices, level / 2).feasible)",
        "not any(find_feasible(problem, live, choices, level).feasible)",
        "the pilot refutes at twice the level of the decision",
        "verify/decisions/test_constants verify/procedures/test_constants",
        missed=True,
    ),
    Meaning(
        DECISIONS + "constants/extrapolation.py",
        'reach["jointly"] = max(reach["jointly"], beyond[1])',
        'reach["jointly"] = max(reach["jointly"], beyond[0])',
        "cells reach far jointly where one parameter alone does",
        "verify/decisions/test_constants",
        missed=True,
    ),
    Meaning(
        DECISIONS + "search.py",
        "not self.constraints(point):\n            return False",
        "False:\n            return False",
        "a counterexample may be simplified out of the assumptions",
        "verify/decisions/test_search verify/procedures/test_search",
        missed=True,
    ),
    Meaning(
        DECISIONS + "search.py",
        "return 0.0 if recheck is not None else 1e-9",
        "return 0.0",
        "a rounding error without a check in high precision refutes",
        "verify/decisions/test_search verify/procedures/test_search",
    ),
    Meaning(
        DECISIONS + "domain.py",
        "low=last + 1)",
        "low=min(last + 2, r.high))",
        "an integer in the middle of a range lies in neither half",
        "verify/decisions/test_domain verify/decisions/test_search",
    ),
    Meaning(
        DECISIONS + "domain.py",
        "pool = odd if odd.size >= dimension else nonzero",
        "pool = nonzero",
        "three parameters do not take all combinations of their ends",
        "verify/decisions/test_domain verify/decisions/test_search",
    ),
    # -- procedures: what the decisions are given
    Meaning(
        PROCEDURES + "base.py",
        "whole = next(b for b in range(len(stored) + 1) if b not in stored)",
        "whole = len(stored)",
        "blocks behind a gap count as stored trials",
        "verify/procedures/test_stored_trials verify/procedures/test_base verify/test_deciding",
    ),
    Meaning(
        PROCEDURES + "base.py",
        "budget = min(self.n_blocks(self.max_trials), whole)",
        "budget = whole",
        "a claim reads the trials that another claim has drawn in its cells",
        "verify/procedures/test_stored_trials verify/procedures/test_base verify/test_deciding",
    ),
    Meaning(
        PROCEDURES + "base.py",
        ".issuperset(range(blocks))",
        ".__len__() >= blocks",
        "a gap is not drawn where later blocks make up the number",
        "verify/procedures/test_stored_trials verify/procedures/test_base verify/test_deciding",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "rounds.py",
        "counts[i] = min(2 * counts[i], budget)",
        "counts[i] = 2 * counts[i]",
        "the last round asks for more than the budget",
        "verify/procedures/test_stored_trials verify/procedures/test_base",
    ),
    Meaning(
        PROCEDURES + "mean_bound.py",
        "np.where(worst.table.failed, np.inf, distance)",
        "np.where(worst.table.failed, -np.inf, distance)",
        "the witness of a mean is never a failed trial",
        "verify/procedures/test_stored_trials verify/procedures/test_mean_bound",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "mean_bound.py",
        'return replace(decision, status="open", reason=f"{table.n_failed} trials failed")',
        'return replace(decision, reason=f"{table.n_failed} trials failed")',
        "a cell with failed trials is decided by those that are left",
        "verify/procedures/test_stored_trials verify/procedures/test_mean_bound",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "sup_lower_bound.py",
        "np.where(observed.table.failed | np.isnan(found), -np.inf, found)",
        "np.where(observed.table.failed, -np.inf, found)",
        "a trial that found no number has the largest value",
        "verify/procedures/test_stored_trials verify/procedures/test_sup_lower_bound",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "comparison.py",
        "values[~np.isfinite(values)] = worst",
        "values[np.isnan(values)] = worst",
        "a method that diverges to minus infinity has the smallest error",
        "verify/procedures/test_stored_trials verify/procedures/test_comparison",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "comparison.py",
        "family = max(len(self.cells) * len(self.statement.contrasts), 1)",
        "family = max(len(self.cells), 1)",
        "the contrasts of a cell do not share the level",
        "verify/procedures/test_stored_trials verify/procedures/test_comparison",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "comparison.py",
        "refute_level=level / len(sequences)",
        "refute_level=level",
        "sequences of cells do not share the level",
        "verify/procedures/test_stored_trials verify/procedures/test_comparison",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "comparison.py",
        "ends = [sorted((sign * low, sign * high)) for low, high in limits]",
        "ends = [sorted((low, high)) for low, high in limits]",
        "the limits of a mean that falls are those of minus the mean",
        "verify/procedures/test_stored_trials verify/procedures/test_comparison",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "rate.py",
        "values = np.where(observed.table.failed, np.inf, self.statistic(observed.table))",
        "values = np.asarray(self.statistic(observed.table), dtype=np.float64)",
        "a failed trial with a finite value enters its cell's mean",
        "verify/procedures/test_stored_trials verify/procedures/test_rate",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "rate.py",
        "readable = fit.resolved and fit.n_failed == 0",
        "readable = fit.resolved",
        "a contraction is read from the trials that did not diverge",
        "verify/procedures/test_stored_trials verify/procedures/test_rate",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "rate.py",
        "level=level / len(observed))",
        "level=level)",
        "the cells of a contraction do not share the level",
        "verify/procedures/test_stored_trials verify/procedures/test_rate",
    ),
    Meaning(
        PROCEDURES + "threshold.py",
        "table.failed",
        "table.failed[:0].any()",
        "a failed trial may be a success",
        "verify/procedures/test_stored_trials verify/procedures/test_threshold",
        missed=True,
    ),
    Meaning(
        PROCEDURES + "threshold.py",
        "share = level if self.scaling else level / max(len(self.cells), 1)",
        "share = level",
        "thresholds in several cells do not share the level",
        "verify/procedures/test_stored_trials verify/procedures/test_threshold",
    ),
    Meaning(
        PROCEDURES + "constants.py",
        "np.where(read.table.failed, np.inf, self.statistic(read.table, cell))",
        "np.asarray(self.statistic(read.table, cell), dtype=np.float64)",
        "a failed trial with a finite value keeps any bound",
        "verify/procedures/test_stored_trials verify/procedures/test_constants",
    ),
    Meaning(
        PROCEDURES + "reproduction.py",
        "refute_level=level / len(self.printed)",
        "refute_level=level",
        "printed numbers do not share the level",
        "verify/procedures/test_stored_trials verify/procedures/test_reproduction",
        missed=True,
    ),
    Meaning(
        "verify/mutation/score.py",
        "if evidence.verdict is not Verdict.SUPPORTED or evidence.resolution is not None:",
        "if evidence.verdict is not Verdict.SUPPORTED:",
        "a condition is needless where the run supports only a larger probability",
        "verify/mutation/test_score verify/mutation/test_opened",
        missed=True,
    ),
    Meaning(
        "verify/mutation/score.py",
        "spent += new",
        "spent = new",
        "a mutant spends as many trials as its largest cell asks for, round after round",
        "verify/mutation/test_score verify/mutation/test_opened",
        missed=True,
    ),
    # -- trials: runs
    Meaning(
        "trials/run/streams.py",
        "spawn_key=(design, high, low, block)",
        "spawn_key=(design, low, block)",
        "cells whose numbers differ in their upper half have one stream",
        "trials/run/test_streams",
    ),
    Meaning(
        "trials/run/block.py",
        "except (MemoryError, OSError):\n        raise",
        "except OSError:\n        raise",
        "a machine without memory makes failed trials",
        "trials/run/test_engine trials/run/test_executors",
    ),
    Meaning(
        "trials/run/block.py",
        "silent = set(np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist()) - set(rows)",
        "silent = set(np.flatnonzero(~np.isfinite(values).any(axis=1)).tolist()) - set(rows)",
        "a worker may hide a failed trial of which one column is finite",
        "trials/run/test_executors trials/run/test_distributed",
    ),
    Meaning(
        "trials/run/engine.py",
        "for done in executor.finished():",
        "for done in ():",
        "blocks that had finished are lost when a run is interrupted",
        "trials/run/test_engine trials/run/test_executors",
    ),
    Meaning(
        "trials/run/engine.py",
        "n_failed = sum(store.n_failed(d.experiment, d.params, d.n_blocks) for d in merged)",
        "n_failed = 0",
        "a run that goes on forgets the failed trials that it had",
        "trials/run/test_engine",
    ),
    Meaning(
        STORE + "verification.py",
        "head = compact([*cell[1:], block, n_rows, n_columns, reasons])",
        "head = compact([*cell[1:], n_rows, n_columns, reasons])",
        "a block may change its place without notice",
        "trials/run/test_store_blocks trials/run/test_store_format trials/run/test_store_attack",
    ),
    Meaning(
        STORE + "verification.py",
        "silent = set(np.flatnonzero(~finite.all(axis=1)).tolist()) - rows",
        "silent = set(np.flatnonzero(~finite.any(axis=1)).tolist()) - rows",
        "a stored trial of which one column is finite needs no reason",
        "trials/run/test_store_blocks trials/run/test_store_rows trials/run/test_store",
        missed=True,
    ),
    Meaning(
        STORE + "reading.py",
        'WHERE cell = ? AND block < ?",',
        'WHERE cell = ? AND block <= ?",',
        "the failed trials of the next block count as well",
        "trials/run/test_store_blocks trials/run/test_store trials/run/test_engine",
        missed=True,
    ),
    Meaning(
        STORE + "reading.py",
        "reasons=tuple(pair for pair in table.reasons if pair[0] < n_trials),",
        "reasons=table.reasons,",
        "a prefix lists the failed trials that come after it",
        "trials/run/test_store_blocks trials/run/test_store trials/run/test_store_rows",
    ),
    Meaning(
        STORE + "tally.py",
        "gone = 0 if replaced is None else weight(replaced)",
        "gone = 0",
        "a document that is replaced stays in the tally",
        "trials/run/test_store trials/run/test_store_format",
        missed=True,
    ),
    # -- trials: clusterings
    Meaning(
        "trials/clustering/kmeans/iteration.py",
        "if not strict:\n        assign(",
        "if not converged:\n        assign(",
        "labels lag behind the centres after a stop by tolerance",
        "trials/clustering/test_kmeans",
    ),
    Meaning(
        "trials/clustering/kmeans/iteration.py",
        "and counts[labels[i]] > 1",
        "and counts[labels[i]] > 0",
        "an empty cluster takes the only point of another one",
        "trials/clustering/test_kmeans",
        missed=True,
    ),
    Meaning(
        "trials/clustering/kmeans/iteration.py",
        "if screened:  # which leaves no distances",
        "if False:  # which leaves no distances",
        "an empty cluster takes its point by distances that were not computed",
        "trials/clustering/test_kmeans_assignment trials/clustering/test_kmeans",
    ),
    Meaning(
        "trials/clustering/convex/certificate.py",
        "np.sqrt(1.0 / mass[own][:, None] + 1.0 / mass)",
        "np.sqrt(1.0 / mass[own][:, None])",
        "two centres are proved distinct as if only one of them were uncertain",
        "trials/clustering/test_convex_proofs trials/clustering/test_convex_adversarial",
        missed=True,
    ),
    Meaning(
        "trials/clustering/convex/certificate.py",
        "worst = max(worst, largest)",
        "worst = largest",
        "of a fusion of many points only the last block of flows is checked",
        "trials/clustering/test_convex_proofs trials/clustering/test_convex_adversarial",
        missed=True,
    ),
    Meaning(
        "trials/clustering/convex/certificate.py",
        "if bool(same.all()) and np.unique(heads).size == sizes.size:",
        "if bool(same.all()):",
        "labels that join two clusters pass as the partition",
        "trials/clustering/test_convex_proofs trials/clustering/test_convex_adversarial",
        missed=True,
    ),
    Meaning(
        "trials/clustering/convex/certificate.py",
        "if number > 0.0:\n        lam = max(lam, math.ulp(0.0))",
        "if number < 0.0:\n        lam = max(lam, math.ulp(0.0))",
        "a penalty that underflows is no penalty, so that its partition is the distinct points",
        "trials/clustering/test_convex_proofs trials/clustering/test_convex_adversarial",
        missed=True,
    ),
    Meaning(
        "trials/clustering/recovery.py",
        "e.lower if len(e.children) == 2 else e.apart",
        "e.lower",
        "a merge of three is bounded from below as one of two",
        "trials/clustering/test_recovery",
        missed=True,
    ),
    Meaning(
        "trials/models/matching.py",
        "if len(set(nearest.tolist())) == len(nearest):",
        "if True:",
        "two centres may share their nearest model",
        "trials/models/test_overlaps trials/clustering/test_one_shot_properties "
        "trials/ifca/test_one_shot",
        missed=True,
    ),
    # -- trials: laws and kernels
    Meaning(
        "trials/laws/step.py",
        "for t in range(step, n_steps):",
        "for t in range(step, step + 1):",
        "only the first error after a divergence is no number",
        "trials/laws/test_step",
    ),
    Meaning(
        "trials/laws/step.py",
        "rng.chisquare(d - 1, u.shape) if d > 1 else np.zeros(u.shape)",
        "rng.chisquare(max(d - 1, 1), u.shape)",
        "a gradient on a line has a part across the line",
        "trials/laws/test_step",
    ),
    Meaning(
        "trials/laws/pairwise.py",
        "return math.copysign(math.inf, twice_middle), 0.0",
        "return math.inf, 0.0",
        "without noise the farther model may be certain as well",
        "trials/laws/test_pairwise",
    ),
    Meaning(
        "trials/laws/noise.py",
        "rng.chisquare((N - 1) * d, n_trials) if N > 1 else 0.0",
        "rng.chisquare(max(N - 1, 1) * d, n_trials)",
        "a matrix of one row has a second row in its norm",
        "trials/laws/test_noise",
    ),
    Meaning(
        "trials/laws/noise.py",
        "wanted = 2 * r if which == 0 else r + 1",
        "wanted = 2 * r if which == 0 else r + 1 + (r > 40)",
        "of more than forty singular values the second smallest is returned",
        "trials/laws/test_noise",
        missed=True,
    ),
    Meaning(
        "trials/local_erm/descent.py",
        "norm = np.sqrt(norm_sq) if 1e-280 < norm_sq < 1e300 else length(theta[b])",
        "norm = np.sqrt(norm_sq)",
        "a step whose square overflows is projected to zero",
        "trials/local_erm/test_local_erm",
    ),
    Meaning(
        "trials/local_erm/squares.py",
        "for _ in range(2):  # the second pass",
        "for _ in range(1):  # the second pass",
        "the solution of the normal equations is not refined",
        "trials/local_erm/test_local_erm",
        missed=True,
    ),
    Meaning(
        "trials/ifca/loss_hulls.py",
        "blur * (gap + hulls.base_sizes[run, j] + along)",
        "blur * (gap + along)",
        "the rounding of a model far from the origin is forgotten",
        "trials/ifca/test_loss_hulls trials/ifca/test_skipping",
        missed=True,
    ),
    Meaning(
        "trials/ifca/loss_hulls.py",
        "if abs(square) < np.inf:",
        "if not np.isnan(square):",
        "a loss whose terms overflow proves a label",
        "trials/ifca/test_loss_hulls trials/ifca/test_skipping",
    ),
    # -- bounds
    Meaning(
        "bounds/log_domain.py",
        "1 if base.sign > 0 or power % 2 == 0 else -1",
        "1 if base.sign > 0 else -1",
        "an even power of a negative number beyond the floats is negative",
        "bounds/test_log_domain",
        missed=True,
    ),
    Meaning(
        "bounds/log_domain.py",
        "return self.log <= other.log if self.sign >= 0 else self.log >= other.log",
        "return self.log <= other.log",
        "of two negative numbers beyond the floats the larger one is called smaller",
        "bounds/test_log_domain",
    ),
    Meaning(
        "bounds/log_domain.py",
        "if first.log >= _WHOLE:\n            return first",
        "if first.log >= 700.0:\n            return first",
        "a number beyond the floats is rounded through a float",
        "bounds/test_log_domain",
        missed=True,
    ),
    Meaning(
        "bounds/statement.py",
        "met = left > right if self.strict else left >= right",
        "met = left >= right",
        "a strict condition with the right side zero is met by an equality",
        "bounds/test_statement bounds/test_statement_kinds",
    ),
    Meaning(
        "bounds/gaussian.py",
        "return np.inf if delta > 0 else (0.0 if delta < 0 else 1.0)",
        "return np.inf if delta > 0 else 0.0",
        "two equal models without noise are not tied",
        "bounds/test_gaussian",
    ),
    # -- reports
    Meaning(
        "reports/claim_tables.py",
        "if len(distinct) == 1 and all(texts):",
        "if len(distinct) == 1:",
        "a note of one cell is said of all",
        "reports/test_claim_tables",
    ),
    Meaning(
        "reports/claim_tables.py",
        '["rho"] if all(map(_rho_follows, cells)) else []',
        '["rho"] if any(map(_rho_follows, cells)) else []',
        "a parameter is left out where it does not follow from the others",
        "reports/test_claim_tables",
        missed=True,
    ),
    Meaning(
        "reports/claim_page.py",
        "all(a in own for a in held)",
        "any(a in own for a in held)",
        "a page names the conditions of an earlier claim that are not its own",
        "reports/test_collect",
    ),
    Meaning(
        "reports/claim_page.py",
        "whole = len(power.judged) == power.n_mutants and not kept",
        "whole = len(power.judged) == power.n_mutants",
        "a share of caught statements is told where nobody asked which are true",
        "reports/test_power",
        missed=True,
    ),
    Meaning(
        "reports/reading.py",
        "while name in names.values():",
        "if name in names.values():",
        "three claims with one slug have two names",
        "reports/test_reading reports/test_collect",
    ),
    Meaning(
        "reports/text.py",
        "digits = 3 if left == right else",
        "digits = 3 if True else",
        "the ends of a narrow interval are printed alike",
        "reports/test_values",
    ),
    Meaning(
        "reports/dependencies.py",
        "wanted = {name: tuple(dict.fromkeys(uses.get(name, ()))) for name in verdicts}",
        "wanted = {name: tuple(uses.get(name, ())) for name in verdicts}",
        "a statement that is used twice has two edges",
        "reports/test_dependencies",
        missed=True,
    ),
    # -- a second list, written after the tests for the first
    Meaning(
        "verify/session.py",
        'and document["profile"] == profile',
        "and True",
        "a run that is extended to a larger profile keeps its old verdicts",
        "verify/test_session",
    ),
    Meaning(
        "verify/session.py",
        '"wall_seconds": earlier.get("wall_seconds", 0.0) + time.perf_counter() - begin',
        '"wall_seconds": time.perf_counter() - begin',
        "a resumed run forgets the time that it has taken before",
        "verify/test_session",
        missed=True,
    ),
    Meaning(
        "verify/session.py",
        "level=allocation.alone.get(selection, config.level)",
        "level=config.level",
        "the command that repeats a claim alone has the level of the whole run",
        "verify/test_session",
        missed=True,
    ),
    Meaning(
        "verify/procedures/constants.py",
        "return (*self.calibration, *self.held_out, *self.elsewhere)",
        "return (*self.calibration, *self.held_out)",
        "cells where another term of a bound rules are not counted",
        "verify/test_plan verify/procedures/test_constants",
        missed=True,
    ),
    Meaning(
        "verify/cli/verdicts.py",
        "any(o.verdict != Verdict.INCONCLUSIVE for o in unexpected)",
        "unexpected and all(o.verdict != Verdict.INCONCLUSIVE for o in unexpected)",
        "one inconclusive claim hides that another one is not as expected",
        "verify/cli/test_commands",
    ),
    Meaning(
        "verify/cli/verdicts.py",
        'c["ratio"] if c["ratio"] is not None else -1.0',
        'c["ratio"] if c["ratio"] is not None else 1e308',
        "a cell without a ratio is the worst one",
        "verify/cli/test_words",
    ),
    Meaning(
        "verify/decisions/vacuity.py",
        "right=statement.failure.doit(),\n                strict=True",
        "right=statement.failure.doit(),\n                strict=False",
        "a statement that may fail with probability one says something",
        "verify/decisions/test_vacuity verify/procedures/test_vacuity",
        missed=True,
    ),
    Meaning(
        "verify/decisions/vacuity.py",
        "low, high = float(grid[failing[-1]]), float(grid[failing[-1] + 1])",
        "low, high = float(grid[failing[0]]), float(grid[failing[0] + 1])",
        "a condition holds from a size on although it fails at a larger one",
        "verify/decisions/test_vacuity verify/procedures/test_vacuity",
    ),
    Meaning(
        "verify/decisions/vacuity.py",
        "earlier=any(found[: failing[-1]])",
        "earlier=any(found)",
        "every condition is said to hold at smaller sizes as well",
        "verify/decisions/test_vacuity verify/procedures/test_vacuity",
        missed=True,
    ),
    Meaning(
        "verify/testing/runner.py",
        "for scope in (replace(call.scope, simple=True), call.scope):",
        "for scope in (replace(call.scope, simple=True),):",
        "implementations are tried on simple inputs only",
        "verify/testing/test_runner",
    ),
    Meaning(
        "verify/testing/arrays.py",
        "for a, b in zip(old, new, strict=True)",
        "for a, b in [(old[0], new[0])]",
        "a client's responses may be changed in place",
        "verify/testing/test_arrays verify/testing/test_runner",
    ),
    Meaning(
        "verify/testing/arrays.py",
        "return float(np.float32(value)) if isinstance(value, float) else value",
        "return value",
        "a step size is not rounded to the precision of its subject",
        "verify/testing/test_arrays verify/testing/test_runner",
    ),
    Meaning(
        "verify/testing/check.py",
        "if not np.isfinite(array).all():",
        "if np.isnan(array).any():",
        "an implementation may return infinite models",
        "verify/testing/test_check",
    ),
    Meaning(
        "verify/decisions/means.py",
        'if any(c.status == "fails" for c in cells):\n        return []',
        'if all(c.status == "fails" for c in cells):\n        return []',
        "trials are drawn after a cell has refuted",
        "verify/decisions/test_means verify/procedures/test_mean_bound",
    ),
    Meaning(
        "verify/procedures/vacuity.py",
        "begins = min((s.begins for s in found)",
        "begins = max((s.begins for s in found)",
        "a statement begins to say something at its last setting",
        "verify/procedures/test_vacuity",
    ),
    Meaning(
        "verify/procedures/vacuity.py",
        "Verdict.SUPPORTED if len(biting) == len(found) else Verdict.REFUTED",
        "Verdict.SUPPORTED if biting else Verdict.REFUTED",
        "a condition that is said to hold everywhere need hold at one setting only",
        "verify/procedures/test_vacuity",
    ),
    Meaning(
        "verify/procedures/reproduction.py",
        'x = as_values(raw, o.table.failed, test.knowledge, "at most")',
        'x = as_values(raw, [False] * o.table.n_trials, test.knowledge, "at most")',
        "a failed trial enters a printed number with its finite value",
        "verify/procedures/test_stored_trials verify/procedures/test_reproduction",
        missed=True,
    ),
    Meaning(
        "verify/procedures/comparison.py",
        "x[o.table.failed] = self.failed",
        "x[np.isnan(x)] = self.failed",
        "a failed trial enters a trend with its finite value",
        "verify/procedures/test_stored_trials verify/procedures/test_comparison",
        missed=True,
    ),
    Meaning(
        "verify/procedures/probability.py",
        "self.bad(o.table, o.params) & ~o.table.failed",
        "self.bad(o.table, o.params)",
        "a failed trial that is bad as well counts twice",
        "verify/procedures/test_stored_trials verify/procedures/test_probability",
        missed=True,
    ),
    Meaning(
        "verify/procedures/probability.py",
        "self.bad(worst.table, worst.params) | worst.table.failed",
        "self.bad(worst.table, worst.params)",
        "a probability that failed trials alone refute has no witness",
        "verify/procedures/test_stored_trials verify/procedures/test_probability",
    ),
    Meaning(
        "verify/mutation/tried.py",
        "if numbers.size and np.all(np.isfinite(numbers)):",
        "if numbers.size:",
        "a symbol that was infinite once has an infinite range",
        "verify/mutation/test_score verify/mutation/test_mutants",
        missed=True,
    ),
    Meaning(
        "verify/evidence.py",
        "if observed < 0 or bound < 0 or",
        "if observed * bound < 0 or",
        "two negative numbers have a ratio, and the larger loss is better",
        "verify/test_evidence",
        missed=True,
    ),
    Meaning(
        "trials/run/store/cells.py",
        "if now != then:",
        'if what != "columns" and now != then:',
        "a run goes on with other columns",
        "trials/run/test_store",
    ),
    Meaning(
        "trials/run/store/opening.py",
        "if database.format.has_tally:\n            tally.check(database)",
        "if database.format.has_tally and not readonly:\n            tally.check(database)",
        "a reader does not notice that rows are lost",
        "trials/run/test_store trials/run/test_store_format trials/run/test_store_rows",
    ),
    Meaning(
        "trials/ifca/one_shot.py",
        'f"{clients[without[0]]} ({n} rows)',
        'f"{without[0]} ({n} rows)',
        "of clients of several sizes a wrong one is named",
        "trials/ifca/test_one_shot",
    ),
    Meaning(
        "trials/ifca/one_shot.py",
        "starts[:, :, shared] = erms[:, shared].mean(axis=0)",
        "starts[:, :, shared] = erms[0, shared]",
        "shared coordinates start at the first client's and not at the mean",
        "trials/ifca/test_one_shot",
    ),
    Meaning(
        "trials/ifca/quadratic_rounds.py",
        "if counts[j] > 0:\n                for a in range(d):\n                    models[j, a] =",
        "counts[j] = max(counts[j], 1)\n            if True:\n"
        "                for a in range(d):\n                    models[j, a] =",
        "a model that no user chooses becomes zero",
        "trials/ifca/test_quadratic_rounds",
        missed=True,
    ),
    Meaning(
        "trials/ifca/quadratic_rounds.py",
        "errors[np.isnan(errors)] = np.inf",
        "errors[np.isnan(errors)] = np.nan",
        "models beyond the floats have errors that are no numbers",
        "trials/ifca/test_quadratic_rounds",
        missed=True,
    ),
    Meaning(
        "trials/mixed_regression/fed_regression_kernels.py",
        "if loss < least:",
        "if loss <= least:",
        "of models with equal losses the last one is chosen",
        "trials/mixed_regression/test_fed_regression trials/mixed_regression/test_settled_rounds",
    ),
    Meaning(
        "trials/clustering/kmeans/approximation.py",
        "stale[owner[i]] = True\n                stale[new_owner[i]] = True",
        "stale[new_owner[i]] = True",
        "a cluster that lost a point keeps its table of swaps",
        "trials/clustering/test_kmeans",
    ),
    Meaning(
        "trials/clustering/kmeans/approximation.py",
        "return cost, n_swaps, False",
        "return cost, n_swaps, True",
        "a search that was stopped is called optimal",
        "trials/clustering/test_kmeans",
    ),
    Meaning(
        "trials/local_erm/squares.py",
        "if n < d:\n        return np.full(n_users, ridge)",
        "if n + 1 < d:\n        return np.full(n_users, ridge)",
        "fewer samples than features, by one, make a strongly convex loss",
        "trials/local_erm/test_local_erm",
        missed=True,
    ),
    Meaning(
        "trials/laws/wishart.py",
        "better, best = 1, 1  #",
        "better, best = 0, 1  #",
        "a client that rounding calls correct has no rival",
        "trials/laws/test_wishart",
    ),
    Meaning(
        "bounds/gaussian.py",
        "for i in np.flatnonzero(~(plain > _UNDERFLOW)):",
        "for i in np.flatnonzero(plain == 0.0):",
        "of probabilities that nearly underflow the digits are lost",
        "bounds/test_gaussian",
    ),
    Meaning(
        "bounds/gaussian.py",
        "if n_samples <= dimension + 1:",
        "if n_samples <= dimension:",
        "an infinite mean squared error is a division by zero",
        "bounds/test_gaussian",
    ),
    Meaning(
        "reports/tables.py",
        "half = -(-len(rows) // 2)",
        "half = len(rows) // 2",
        "the last row of an odd table of two blocks is lost",
        "reports/test_tables",
    ),
    Meaning(
        "reports/tables.py",
        "values = [row[i] for row in rows if row[i] is not None]",
        "values = [row[i] for row in rows]",
        "a column of numbers with a gap stands left",
        "reports/test_tables reports/test_claim_tables",
    ),
    Meaning(
        "reports/figures.py",
        "shared = min(low for low, _ in limits), max(high for _, high in limits)",
        "shared = limits[0]",
        "panels with one label have the limits of the first",
        "reports/test_figures",
    ),
)


def meaning_faults(root: Path, entries: Sequence[Meaning] = MEANINGS) -> list[Fault]:
    """The faults of meaning at their places of today, in the order of the list.

    Raises
    ------
    ValueError
        When a text does not occur exactly once.
    """
    found = []
    for entry in entries:
        try:
            path = located(root, entry.path, entry.old)
        except ValueError as error:
            raise ValueError(
                f"{error}, so the fault {entry.means!r} is stale: write it anew where the line is "
                "now, or drop it"
            ) from None
        source = (root / path).read_text()
        start = source.index(entry.old)
        line = source.count("\n", 0, start) + 1
        found.append(Fault(path, start, entry.old, entry.new, "meaning", line))
    return found
