r"""A network with one hidden layer of rectified units, for classification by the softmax loss.

The parameters are a dict of arrays.  A client's data are ``(inputs (n, d), classes (n,))``.  The
loss is the mean of :math:`-\log\operatorname{softmax}(W_2^\top\max(W_1^\top x+b_1,0)+b_2)_y`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from trials.checks import FloatArray, IntArray
from trials.parameters import Integer, Stream, validated

Parameters = dict[str, FloatArray]
Data = tuple[FloatArray, IntArray]


@validated(d=Integer(1), hidden=Integer(1), classes=Integer(2), rng=Stream())
def random_network(*, d: int, hidden: int, classes: int, rng: np.random.Generator) -> Parameters:
    """Weights with the variance 2 over the number of inputs (He et al. 2015), zero offsets."""
    return {
        "W1": rng.standard_normal((d, hidden)) * np.sqrt(2.0 / d),
        "b1": np.zeros(hidden),
        "W2": rng.standard_normal((hidden, classes)) * np.sqrt(2.0 / hidden),
        "b2": np.zeros(classes),
    }


def scores(network: Parameters, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The hidden units (n, hidden) and the classes' scores (n, classes)."""
    hidden = np.maximum(inputs @ network["W1"] + network["b1"], 0.0)
    return hidden, hidden @ network["W2"] + network["b2"]


def network_loss(network: Parameters, data: Data) -> float:
    """The mean softmax loss."""
    inputs, classes = data
    logits = scores(network, inputs)[1]
    chosen = logits[np.arange(len(classes)), classes]
    return float(np.mean(logsumexp(logits, axis=1) - chosen))


def network_gradient(network: Parameters, data: Data) -> Parameters:
    """Its gradient, by back-propagation."""
    inputs, classes = data
    hidden, logits = scores(network, inputs)
    logits = np.exp(logits - logits.max(axis=1, keepdims=True))
    errors = logits / logits.sum(axis=1, keepdims=True)
    errors[np.arange(len(classes)), classes] -= 1.0
    errors /= len(classes)
    back = (errors @ network["W2"].T) * (hidden > 0.0)
    return {
        "W1": inputs.T @ back,
        "b1": back.sum(axis=0),
        "W2": hidden.T @ errors,
        "b2": errors.sum(axis=0),
    }


def accuracy(network: Parameters, data: Data) -> float:
    """The share of inputs whose class has the largest score."""
    inputs, classes = data
    return float(np.mean(scores(network, inputs)[1].argmax(axis=1) == classes))
