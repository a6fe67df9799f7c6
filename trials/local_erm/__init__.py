r"""Local empirical risk minimisers, for all users in one call.

Step 1 of ODCL (Armacki, Bajovic, Jakovetic & Kar 2024, Algorithm 1): user i minimises its own
average loss over n samples, exactly (`least_squares`, `logistic`) or inexactly by projected
stochastic gradient descent (`projected_sgd`, Section 4.4 and Theorem 2).

Arrays are ``(B, n, d)`` features and ``(B, n)`` targets for B users (or trials x users) with n
samples each.  Objectives, per user:

.. math::

   \text{squared:}\quad  \tfrac{1}{2n} \|X\theta - y\|^2 + \tfrac{c}{2}\|\theta\|^2, \qquad
   \text{logistic:}\quad \tfrac1n \sum_i \log(1 + e^{-y_i (x_i^T \theta + b)})
                         + \tfrac{c}{2}\|\theta\|^2,

with labels y in {-1, +1} and an optional intercept b that is not penalised (paper, Appendix D.1).
scikit-learn's ``LogisticRegression(C=1 / (n * c))`` has the same minimiser.

BLAS calls inside the kernels are small: cap the threads at one.
"""

from trials.local_erm.descent import SgdFit, projected_sgd
from trials.local_erm.newton import LogisticFit, Status, logistic
from trials.local_erm.squares import LeastSquaresFit, Method, least_squares, strong_convexity

__all__ = [
    "LeastSquaresFit",
    "LogisticFit",
    "Method",
    "SgdFit",
    "Status",
    "least_squares",
    "logistic",
    "projected_sgd",
    "strong_convexity",
]
