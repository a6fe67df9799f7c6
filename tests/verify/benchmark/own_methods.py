"""Methods of a user's own: right ones, and one for each way to go wrong."""

import time

import numpy as np


class Mean:
    """One least squares model for all clients."""

    def fit(self, X, y, clients):
        self.theta_ = np.linalg.lstsq(X, y, rcond=None)[0]
        self.models_ = self.theta_[None]
        self.labels_ = np.zeros(clients.max() + 1, int)
        return self

    def predict(self, X, clients):
        return X @ self.theta_


class Ridge(Mean):
    """Least squares for all with a penalty, which is tuned."""

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, X, y, clients):
        d = X.shape[1]
        super().fit(X, y, clients)
        self.theta_[:] = np.linalg.solve(X.T @ X + self.penalty * np.eye(d), X.T @ y)
        self.n_rounds_ = 1
        return self


def local(X, y, clients, random_state=0):
    """Least squares of each client."""
    m = clients.max() + 1
    models = [np.linalg.lstsq(X[clients == i], y[clients == i], rcond=None)[0] for i in range(m)]
    return np.array(models), np.arange(m)


class Slow(Mean):
    """It does not end in time."""

    def fit(self, X, y, clients):
        time.sleep(3600)


class Raises(Mean):
    """It raises."""

    def fit(self, X, y, clients):
        raise ValueError("no luck")


class WorksAndRaises(Mean):
    """It uses three hundredths of a CPU second and raises."""

    def fit(self, X, y, clients):
        start = time.thread_time()
        while time.thread_time() - start < 0.03:
            pass
        raise ValueError("in vain")


class RaisesOnMany(Mean):
    """It works on the small federation of the check before a run, and on no larger one."""

    def fit(self, X, y, clients):
        if len(X) > 72:
            raise ValueError("too many")
        return super().fit(X, y, clients)


class Ends(Mean):
    """It ends its process."""

    def fit(self, X, y, clients):
        import os

        os._exit(7)


class Scalar(Mean):
    """It predicts one number for all rows."""

    def predict(self, X, clients):
        return 0.0


class NoPredict:
    """It cannot predict."""

    def fit(self, X, y, clients):
        return self


class Diverges(Mean):
    """Its models are not finite, but for those of the check before a run, which has 72 rows."""

    def fit(self, X, y, clients):
        super().fit(X, y, clients)
        self.theta_ = self.theta_ * (1.0 if len(X) == 72 else np.inf)
        return self


class Infinite(Mean):
    """Its predictions are not finite."""

    def predict(self, X, clients):
        return np.full(len(X), np.inf)


class Predicts:
    """It has no models and no labels, and counts nothing."""

    def fit(self, X, y, clients):
        self.theta_ = np.linalg.lstsq(X, y, rcond=None)[0]
        return self

    def predict(self, X, clients):
        return X @ self.theta_


class Narrow(Mean):
    """Its models lack the last feature."""

    def fit(self, X, y, clients):
        super().fit(X, y, clients)
        self.models_ = self.models_[:, :-1]
        return self


class Halves(Mean):
    """Its labels are no whole numbers."""

    def fit(self, X, y, clients):
        super().fit(X, y, clients)
        self.labels_ = self.labels_ + 0.5
        return self


class Named(Mean):
    """Its labels are texts."""

    def fit(self, X, y, clients):
        super().fit(X, y, clients)
        self.labels_ = ["a"] * len(self.labels_)
        return self


class Leaves(Mean):
    """It prints, and leaves its process as a program does."""

    def fit(self, X, y, clients):
        print("said in a fit")
        raise SystemExit("no data")


class Prints(Mean):
    """It prints."""

    def fit(self, X, y, clients):
        print("said in a fit")
        return super().fit(X, y, clients)


class Classes(Mean):
    """Least squares for classes only: other responses are refused, as by most classifiers."""

    def fit(self, X, y, clients):
        if not np.isin(y, (-1.0, 1.0)).all():
            raise ValueError("y holds no classes")
        return super().fit(X, y, clients)
