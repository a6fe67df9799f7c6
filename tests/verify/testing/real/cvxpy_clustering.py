"""CVXPY's model of convex clustering, solved by Clarabel, as ``convex_clustering``."""

import cvxpy as cp
import numpy as np


def convex_clustering(points, penalty):
    """The problem as the paper prints it."""
    m, d = points.shape
    u = cp.Variable((m, d))
    pairs = [cp.norm(u[i] - u[j]) for i in range(m) for j in range(i)]
    objective = 0.5 * cp.sum_squares(points - u) + penalty * sum(pairs)
    cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    return np.asarray(u.value)


def centred(points, penalty):
    """The same for points around zero of size one, which a solver's tolerances are made for."""
    mean = points.mean(axis=0)
    scale = np.abs(points - mean).max() or 1.0
    return mean + scale * convex_clustering((points - mean) / scale, penalty / scale)
