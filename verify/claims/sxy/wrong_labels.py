r"""The effect of wrong labels on a round: the set of wrong labels, (14), (15) and (16).

Problem. Clients with a wrong label pull a model towards another optimum.  How large is their sum?

Guarantee. `bounds.sxy.wrong_labels`: it is a sum over the clients of S_j alone (14), their
residuals are limited by the distance of the models from the optima and by their noise (15), and S_j
is a function of the data (16).

Algorithm. One assignment of labels (8).  No trial is drawn.

Computation. Searches over small clients.  Half of the points are drawn at random.  The others are
built: the rows of client l are zero but for coordinate l, in which its own model errs by d(theta,
theta*) and the model of another cluster by slightly less.

Reference. Section 4.2.1 and B.2.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp

from bounds.statement import Statement, evaluate
from bounds.sxy.symbols import sign
from bounds.sxy.wrong_labels import (
    EQ_14,
    EQ_14_AS_PRINTED,
    EQ_15,
    EQ_15_AS_PRINTED,
    EQ_16,
)
from trials.checks import FloatArray, IntArray
from verify.claim import Finding, claim, row, table
from verify.claims.common import Point
from verify.claims.searching import search
from verify.decisions.domain import Choice, Interval, IntRange, Ranges
from verify.decisions.measures import DIFFERENCE
from verify.procedures.base import Profile
from verify.procedures.search import Search
from verify.proofs.certificate import Certificate, Inequality, certificate
from verify.proofs.propositions import NOT_NEGATIVE, Reduction
from verify.proofs.terms import from_sympy

CLIENT_DOMAIN: Ranges = {
    "build": Choice(
        ("axes", "random"), meaning="how the clients are made: at random, or on axes against (15)"
    ),
    "k": IntRange(2, 6),
    "n": IntRange(1, 3),
    "tau": Interval(
        0.01,
        0.5,
        meaning="share by which a rival model errs less than the own one, in clients built on axes",
    ),
    "sigma": Choice((0.0, 0.1, 1.0)),
    "unit": Choice(
        (1.0, 1e-6, 1e6), meaning="factor that multiplies the features and divides the models"
    ),
    "seed": IntRange(0, 1000),
}
_APART = 10.0  # between two optima, in coordinates that no client of the build sees


@dataclass(frozen=True)
class _Clients:
    """Clients with their true and their estimated labels, and the models."""

    features: FloatArray
    responses: FloatArray
    noise: FloatArray
    truth: IntArray
    labels: IntArray
    models: FloatArray
    optima: FloatArray

    @property
    def wrong(self) -> IntArray:
        """The clients of S_1: cluster 0 is theirs, or their label, and not both."""
        return np.flatnonzero((self.truth == 0) != (self.labels == 0))

    def residuals(self, j: int) -> FloatArray:
        """``phi(x_i) theta_j - y_i`` of every client, (M, n)."""
        return np.asarray(self.features @ self.models[j] - self.responses)


def _draw_clients(point: Point) -> _Clients:
    """The clients of a point: built against (15), or drawn at random with models near by."""
    rng = np.random.default_rng(int(point["seed"]))
    k, n, unit = int(point["k"]), int(point["n"]), point["unit"]
    if point["build"] == "axes":
        d = 2 * k
        models = np.zeros((k, d))
        models[:, :k] = 2.0
        models[0, :k] = 1.0 - point["tau"]  # model 1 is the second best of every other client
        models[1, 0] = 1.0 - point["tau"]  # and model 2 that of client 1
        np.fill_diagonal(models, 1.0)
        models[:, k:] = _APART * np.eye(k)
        optima = models.copy()
        np.fill_diagonal(optima, 0.0)
        features = np.zeros((k, n, d))
        features[np.arange(k), :, np.arange(k)] = 1.0
        truth = np.arange(k)
    else:
        d = int(rng.integers(1, 4))
        optima = rng.standard_normal((k, d))
        models = optima + rng.standard_normal((k, d))
        features = rng.standard_normal((8, n, d))
        truth = rng.integers(0, k, 8)
    noise = point["sigma"] * rng.standard_normal(features.shape[:2])
    features, models, optima = features * unit, models / unit, optima / unit
    responses = np.einsum("ind,id->in", features, optima[truth]) + noise
    losses = np.sum((responses[..., None] - features @ models.T) ** 2, axis=1)
    return _Clients(features, responses, noise, truth, np.argmin(losses, axis=1), models, optima)


def _norm_of(rows: FloatArray) -> float:
    """Operator norm of the rows of some clients, (clients, n, d), zero where there are none."""
    return float(np.linalg.norm(rows.reshape(-1, rows.shape[-1]), 2)) if rows.size else 0.0


# --- The sum over the wrong labels (14) ---------------------------------------------------------

LOST_CLIENTS = Finding(
    id="sxy-lost-clients",
    where="(14)",
    headline="The sum over wrongly labelled clients lacks the minus signs of the clients that a "
    "cluster loses.",
    printed="$B\\mathcal{E}_{j,t}(\\phi(x)\\theta-y)=\\frac1N\\phi(x_S)^\\top P_S(\\phi(x_S)"
    "\\theta-y_S)$.",
    found="$\\mathcal{E}_{j,t}=\\Lambda_{j,t}-\\Lambda_j$ is $-I$ at the clients of cluster $j$ "
    "with another label. One client with one row and a wrong label gives both sides opposite "
    "signs.",
    corrected="A sign for each client, $+1$ where cluster $j$ gains it and $-1$ where it loses it. "
    "The norms that follow do not change.",
    severity="proof",
)


_CHANGE, _PULL = sp.symbols("change pull")


def _one_client(statement: Statement) -> Reduction:
    """The term of one client on both sides."""

    def quantities(point: Point) -> dict[str, float]:
        clients = _draw_clients(point)
        i = int(clients.wrong[0]) if clients.wrong.size else 0
        change = float(clients.labels[i] == 0) - float(clients.truth[i] == 0)
        return {
            "change": change,
            "pull": float(clients.features[i][:, 0] @ clients.residuals(0)[i]),
        }

    def computed(point: Point) -> tuple[float, float]:
        at = quantities(point)
        signed = float(evaluate(statement.definitions[sign], {"label_change": at["change"]}))
        stated = float(evaluate(statement.expr, {"pull_S": signed * at["pull"]}))
        return at["change"] * at["pull"], stated

    signed = statement.definitions[sign].subs(sp.Symbol("label_change"), _CHANGE)
    return Reduction(
        idea="Both sides are sums over clients, and a client with the right label adds nothing to "
        "either. The certificate compares the two terms of a client, coordinate by coordinate.",
        ranges={"change": Interval(-1.0, 1.0), "pull": Interval(-math.inf, math.inf)},
        left=_CHANGE * _PULL,
        right=statement.expr.subs(sp.Symbol("pull_S"), signed * _PULL),
        quantities=quantities,
        computed=computed,
    )


def signed_sum(statement: Statement, profile: Profile) -> Search:
    """Both sides of (14) with one local step, where P is the identity."""

    def difference(point: Point) -> float:
        """The largest difference of the sides, relative to the largest pull of a client."""
        clients = _draw_clients(point)
        pulls = np.einsum("ind,in->id", clients.features, clients.residuals(0))
        gained = (clients.labels == 0).astype(float) - (clients.truth == 0)
        total = gained @ pulls
        stated = np.zeros(pulls.shape[1])
        for i in clients.wrong:
            at = {"label_change": gained[i]}
            stated = stated + float(evaluate(statement.definitions[sign], at)) * pulls[i]
        stated = stated * float(evaluate(statement.expr, {"pull_S": 1.0}))
        scale = float(np.abs(pulls).max()) or 1.0
        return float(np.abs(total - stated).max()) / scale

    def lost_client(_point: Point) -> Certificate:
        signed = statement.definitions[sign]
        return certificate(
            "Take one client of cluster $j$ with one row $x=1$, residual $1$ and another label. "
            "The left side is $-1$.",
            [
                Inequality(
                    says="the stated sum exceeds minus one",
                    left="-1",
                    relation="<",
                    right=from_sympy(statement.expr.subs({"pull_S": signed}), {"label_change": -1}),
                )
            ],
        )

    return search(
        statement,
        profile,
        difference,
        CLIENT_DOMAIN,
        bound=lambda _point: 0.0,
        measure=replace(DIFFERENCE, tolerance=1e-10),
        everywhere=_one_client(statement) if statement.id == EQ_14.id else None,
        proof=lost_client,
    )


SIGNED_SUMS = table(
    signed_sum,
    row("sxy.eq14-as-printed", EQ_14_AS_PRINTED, refuted=LOST_CLIENTS),
    row("sxy.eq14", EQ_14, finding=LOST_CLIENTS),
)


# --- The residuals of the wrong labels (15) -----------------------------------------------------

OWN_ERRORS = Finding(
    id="sxy-own-errors",
    where="(15), last step",
    headline="The last step treats the error vectors of all clusters as one vector, and three "
    "clients contradict it.",
    printed="$\\sum_{i\\in S}\\norm{\\phi(x_i)(\\theta_{z_i}-\\theta_{z_i}^*)}^2\\le "
    "d(\\theta,\\theta^*)^2\\norm{\\phi(x_S)}^2$.",
    found="$\\theta_{z_i}-\\theta_{z_i}^*$ is another vector for each cluster. Three clients, one "
    "of each of three clusters, with the rows $e_1,e_2,e_3$ and no noise: residuals of $1$, "
    "$0.9$ and $0.9$ sum to $2.62$ in squares, and the last line of (15) allows $2$.",
    corrected="$\\sum_\\ell\\norm{\\phi(x_{S\\cap I_\\ell})}^2$ in the place of "
    "$\\norm{\\phi(x_S)}^2$. Lemma 2 keeps its form: the norms of the clusters are limited "
    "jointly by the same union bound.",
    severity="proof",
)


def _norms(point: Point) -> dict[str, float]:
    """The norms of (15), over the clients of S_1."""
    clients = _draw_clients(point)
    wrong, own = clients.wrong, clients.truth[clients.wrong]
    rows = clients.features[wrong]
    squares = [_norm_of(rows[own == cluster]) ** 2 for cluster in range(int(point["k"]))]
    return {
        "dist": float(np.linalg.norm(clients.models - clients.optima, axis=1).max()),
        "phi_S": _norm_of(rows),
        "zeta_S": float(np.linalg.norm(clients.noise[wrong])),
        "clusters_phi": float(np.sqrt(sum(squares))),
    }


_DIST, _CLUSTERS, _NOISE, _OWN = sp.symbols("dist clusters_phi zeta_S own")


def _own_errors(point: Point) -> dict[str, float]:
    """The length of the predictions' own errors over the clients of S_1."""
    clients = _draw_clients(point)
    own = clients.models - clients.optima
    each = [clients.features[i] @ own[clients.truth[i]] for i in clients.wrong]
    return {"own": float(np.linalg.norm(each)) if each else 0.0}


OWN_MODELS = Reduction(
    idea="A client with the wrong label 1 errs less under model 1 than under its own, and one that "
    "cluster 1 loses is its own. So the residuals are at most those under the own models, which "
    "are errors of predictions plus noise. Minkowski's inequality adds their lengths. Cluster by "
    "cluster the errors are at most the distance times the norm of the features.",
    lemmas=("minkowski", "operator-norm"),
    ranges=dict.fromkeys(("dist", "clusters_phi", "zeta_S", "own"), NOT_NEGATIVE),
    given=((_DIST * _CLUSTERS, _OWN),),
    quantities=_own_errors,
    left=(_OWN + _NOISE) ** 2,
)


def residuals(statement: Statement, profile: Profile) -> Search:
    """The residuals of S_1 under model 1 against the statement's limit."""

    def squares(point: Point) -> float:
        clients = _draw_clients(point)
        return float(np.sum(clients.residuals(0)[clients.wrong] ** 2))

    def three_clusters(_point: Point) -> Certificate:
        values = {"dist": 1, "phi_S": 1, "zeta_S": 0}
        return certificate(
            "Take three clients, one of each of three clusters, with the rows $e_1,e_2,e_3$, no "
            "noise and $y=0$. The own models err by one in the coordinate that the client sees, "
            "model 1 is $9/10$ in the coordinates $2$ and $3$, and model 2 is $9/10$ in "
            "coordinate $1$. So all three labels are wrong. The distance from the optima is one, "
            "and $\\norm{\\phi(x_S)}=1$.",
            [
                Inequality(
                    says="the residuals under model 1 exceed the right-hand side",
                    left=["+", "1", "81/100", "81/100"],
                    relation=">",
                    right=from_sympy(statement.expr, values),
                )
            ],
        )

    return search(
        statement,
        profile,
        squares,
        CLIENT_DOMAIN,
        at=_norms,
        everywhere=OWN_MODELS if statement.id == EQ_15.id else None,
        proof=three_clusters,
    )


RESIDUALS = table(
    residuals,
    row("sxy.eq15-as-printed", EQ_15_AS_PRINTED, refuted=OWN_ERRORS),
    row("sxy.eq15", EQ_15, finding=OWN_ERRORS),
)


# --- The set of wrong labels as a function of the data (16) -------------------------------------

TIES = Finding(
    id="sxy-ties",
    where="(16), and the displays before Lemma 9",
    printed="$1\\{i\\in S_j(\\theta)\\}=\\max_{\\ell\\ne j}1\\{P_{j\\ell}\\ge0\\}$ for "
    "$i\\in I_j$. The proof of Lemma 9 has $P_{\\ell j}$ in its place.",
    found="A tie of two losses is counted as wrong in both clusters, and a client has one label. "
    "Two equal models, as in a start at one point, put every client into $S_j$.",
    corrected="$\\le$, with equality where no two losses are equal.",
    severity="slip",
)


@claim("sxy.eq16", EQ_16, finding=TIES)
def eq_16(statement: Statement, profile: Profile) -> Search:
    """The indicator of a wrong label against the functions of (16)."""

    def sides(point: Point) -> tuple[float, float]:
        """Both sides of the client where they differ most."""
        clients = _draw_clients(point)
        models = clients.models.copy()
        if point["tie"]:
            models[1] = models[0]
        predictions = clients.features @ models.T
        losses = np.sum((clients.responses[..., None] - predictions) ** 2, axis=1)
        labels = np.argmin(losses, axis=1)
        wrong = ((clients.truth == 0) != (labels == 0)).astype(float)
        rival = losses[:, 1:].min(axis=1)
        marked = np.where(clients.truth == 0, losses[:, 0] >= rival, losses[:, 0] <= rival)
        i = int(np.argmax(wrong - marked))
        return float(wrong[i]), float(marked[i])

    tie = Choice(
        (0, 1), meaning="whether the second model is set equal to the first (1) or not (0)"
    )
    return search(
        statement,
        profile,
        lambda point: sides(point)[0],
        {**CLIENT_DOMAIN, "tie": tie},
        at=lambda point: {"classes": sides(point)[1]},
        measure=DIFFERENCE,
    )
