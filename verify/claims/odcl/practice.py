r"""ODCL in practice: more rounds than one, the start of IFCA, number of clusters, many users.

Problem. Does a second round help, how much depends on the start of IFCA, can the server find the
number of clusters, and which clustering serves 100,000 users?

Guarantee. `bounds.odcl.practice`: the sentences of Remarks 13 and 23, Appendix C and Appendix D.3.

Algorithm. IFCA with model averaging from several starts on the same data as ODCL-KM++
(experiment ``odcl.starts``); K-means for every number of clusters (``odcl.number``); convex
clustering with weights between nearest neighbours (``odcl.neighbours``).

Computation. Signs of differences of errors, and shares of runs.

Reference. Armacki et al. 2024, Remarks 13 and 23, Appendices C and D.3.
"""

from __future__ import annotations

from bounds.odcl import practice as bp
from bounds.statement import Statement
from trials.experiments.odcl.neighbours import NEIGHBOURS
from trials.experiments.odcl.number import NUMBER
from trials.experiments.odcl.starts import STARTS
from trials.run.cell import Params
from verify.claim import Finding, claim
from verify.claims.odcl.pages import many_users
from verify.decisions.means import SHARE, Knowledge
from verify.procedures.base import Profile, Sampling
from verify.procedures.comparison import Comparison
from verify.procedures.mean_bound import MeanBound

ANY_ALGORITHM = Finding(
    id="odcl-remark13",
    where="Remark 13",
    printed="Our algorithm can not be directly extended to K-shot. Consider any algorithm ran for "
    "$K$ communication rounds. K-shot generalizes sub-optimally, as the training is interrupted.",
    found="Average the local fits in the first round, and make local steps from there in the "
    "others: the error is below that of one-shot averaging, after one more round already. "
    "Training from a fixed start is interrupted too early after 2 and 10 rounds, and not after 50 "
    "with the steps .05 and .1.",
    corrected="An algorithm that starts from a fixed model is sub-optimal after few rounds.",
    severity="strong",
)


def _signs(
    statement: Statement, cells: tuple[Params, ...], columns: dict[str, str], max_trials: int
) -> Comparison:
    """Which error is smaller in most trials."""
    return Comparison(
        statement=statement,
        sampling=Sampling(experiment=STARTS, max_trials=max_trials, first=16),
        cells=cells,
        columns=columns,
        knowledge=lambda _cell: Knowledge(low=0.0),
        unit="normalised squared error",
        scale="sign",
    )


def _rounds(rounds: tuple[int, ...], steps: tuple[float, ...], n: int) -> tuple[Params, ...]:
    """One cluster, local steps on half of the mean squared residual."""
    return tuple({"optima": "one", "n": n, "T": T, "step": step} for T in rounds for step in steps)


@claim(bp.K_SHOT, finding=ANY_ALGORITHM)
def k_shot(statement: Statement, _profile: Profile) -> Comparison:
    """One-shot averaging, and rounds of ten local steps from zero."""
    cells = tuple(
        cell
        for n in (100, 400)
        for cell in _rounds((2, 10), (0.01, 0.05, 0.1), n) + _rounds((50,), (0.01,), n)
    )
    return _signs(statement, cells, {"ODCL": "one_shot", "zero": "near"}, 128)


@claim(bp.K_SHOT_FIFTY, finding=ANY_ALGORITHM)
def k_shot_fifty(statement: Statement, _profile: Profile) -> Comparison:
    """The same after fifty rounds of the two larger steps."""
    cells = _rounds((50,), (0.05, 0.1), 100)
    return _signs(statement, cells, {"ODCL": "one_shot", "zero": "near"}, 256)


@claim(bp.K_SHOT_WARM, finding=ANY_ALGORITHM)
def k_shot_warm(statement: Statement, _profile: Profile) -> Comparison:
    """One-shot averaging, and the same average after further rounds of ten local steps."""
    cells = tuple(cell for n in (100, 400) for cell in _rounds((1, 9, 49), (0.01,), n))
    return _signs(statement, cells, {"ODCL": "one_shot", "warm": "warm"}, 256)


@claim(
    bp.INIT_SENSITIVITY,
    smallest_profile="standard",
    why_not_smaller="its trials run IFCA many times",
)
def init_sensitivity(statement: Statement, _profile: Profile) -> Comparison:
    """Four clusters, the largest step of the figure, until both starts have settled."""
    cells = tuple(
        {
            "optima": "four",
            "n": n,
            "T": 60,
            "runs": 10,
            "step": 0.1,
            "gradient": 2.0,
            "nearest": 0.2,
            "farthest": 1 / 3,
        }
        for n in (400, 600)
    )
    return _signs(statement, cells, {"near": "near", "random": "random"}, 64)


def _right(statement: Statement, column: str, rule: str) -> MeanBound:
    """How often a rule finds the number of clusters."""
    cells = tuple(
        {"optima": optima, "m": 100, "d": 20, "n": n}
        for optima in ("ten", "four")
        for n in (100, 400)
    )
    return MeanBound(
        statement=statement,
        sampling=Sampling(experiment=NUMBER, max_trials=256, first=32),
        cells=cells,
        statistic=lambda table, _cell: table[column],
        knowledge=lambda _cell: SHARE,
        observable=f"{rule} finding the number of clusters",
    )


@claim(bp.SILHOUETTE)
def silhouette(statement: Statement, _profile: Profile) -> MeanBound:
    """Ten clusters of Section 5 and four of Appendix D.2, up to fifteen tried."""
    return _right(statement, "silhouette_right", "the silhouette score")


@claim(bp.ELBOW)
def elbow(statement: Statement, _profile: Profile) -> MeanBound:
    """The same data and clusterings."""
    return _right(statement, "elbow_right", "the elbow method")


def _neighbours(statement: Statement, cells: tuple[Params, ...], max_trials: int) -> Comparison:
    """Which of the one-shot methods has the smaller error in most trials."""
    return Comparison(
        statement=statement,
        sampling=Sampling(experiment=NEIGHBOURS, max_trials=max_trials, first=16),
        cells=cells,
        columns={
            "neighbours": "neighbours",
            "uniform": "uniform",
            "asked": "asked",
            "kmeans": "km",
        },
        knowledge=lambda _cell: Knowledge(low=0.0),
        unit="squared error",
        scale="sign",
        present=many_users,
    )


@claim(bp.NEIGHBOURS)
def neighbours(statement: Statement, _profile: Profile) -> Comparison:
    """Five clusters, equal ones or a small one, and a subsample of a tenth.

    With 25 samples the fits of different clusters overlap.
    """
    cells = tuple(
        {"m": 500, "sample": 50, "n": n, "size_min": least}
        for n in (25, 100, 800)
        for least in (100, 20)
    )
    return _neighbours(statement, cells, 64)


@claim(
    bp.NEIGHBOURS_MANY,
    smallest_profile="full",
    why_not_smaller="a trial clusters 100,000 users, which takes half a minute",
)
def neighbours_many(statement: Statement, _profile: Profile) -> Comparison:
    """The same clusters and 400 users in the subsample, as many as equal weights allow in time."""
    cells = tuple(
        {"m": 10**5, "sample": 400, "n": n, "size_min": least}
        for n in (200, 800)
        for least in (20_000, 100)
    )
    return _neighbours(statement, cells, 16)


@claim(bp.NEIGHBOURS_OVERLAP)
def neighbours_overlap(statement: Statement, _profile: Profile) -> Comparison:
    """Five equal clusters with few samples."""
    cells = ({"m": 500, "sample": 50, "n": 12, "size_min": 100},)
    return _neighbours(statement, cells, 64)
