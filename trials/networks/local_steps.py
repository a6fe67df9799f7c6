"""Local gradient steps of many clients at once: batched by `torch.func`, or in the images' span.

Both give the sum over the clients of the parameters after the steps.  Full gradients of a network
with one hidden layer move its first weights only in the span of the client's n images:

    W_t = W_0 - gamma A_t^T X,    X W_t^T = X W_0^T - gamma (X X^T) A_t,

with X (n, d) and A_t (n, h).  So a step costs n n h products instead of n d h, and no client needs
weights of its own.  It is the same step: only the rounding differs.
"""

from __future__ import annotations

from typing import Any

from trials.networks.architectures import Network, Tensor, Weights, load_torch


def softmax_loss(network: Network, weights: Weights, x: Tensor, y: Tensor) -> Tensor:
    """The mean of -log softmax(scores)_y over a client's images."""
    cross_entropy = load_torch().nn.functional.cross_entropy
    return cross_entropy(network.scores(weights, x), y)


def batched(
    network: Network, start: Weights, x: list[Tensor], y: list[Tensor], step_size: float
) -> Weights:
    """Every client's parameters after a step on each batch of the lists, (c, ...) leaves.

    ``start`` has leaves with or without the clients' axis c.  Batch s is ``x[s]`` (c, b, ...) and
    ``y[s]`` (c, b).
    """
    torch = load_torch()
    gradient = torch.func.grad(lambda w, a, b: softmax_loss(network, w, a, b))
    own = dict(start)
    axis: Any = 0 if own[network.names[-1]].dim() == 2 else None
    for images, labels in zip(x, y, strict=True):
        steps = torch.func.vmap(gradient, in_dims=(axis, 0, 0))(own, images, labels)
        own = {name: own[name] - step_size * steps[name] for name in own}
        axis = 0
    return own


def in_span(
    network: Network, start: Weights, x: Tensor, y: Tensor, step_size: float, n_steps: int
) -> Weights:
    """The sum over clients of the parameters after full gradient steps from one start.

    x (c, n, ...) and y (c, n).  The network has one hidden layer.
    """
    torch = load_torch()
    w1, b1, w2, b2 = (start[name] for name in network.names)
    c, n = y.shape
    flat = x.reshape(c, n, -1)
    # The constant input of the hidden biases adds one to every product of two images.
    gram = flat @ flat.transpose(1, 2) + 1.0
    first = torch.addmm(b1, flat.reshape(c * n, -1), w1.T).reshape(c, n, -1)
    moved = torch.zeros_like(first)
    w2, b2 = (leaf.expand(c, *leaf.shape) for leaf in (w2, b2))
    right = torch.nn.functional.one_hot(y, w2.shape[1]).to(first.dtype)
    for _ in range(n_steps):
        hidden = torch.baddbmm(first, gram, moved, alpha=-step_size).clamp_(min=0.0)
        error = (torch.softmax(hidden @ w2.transpose(1, 2) + b2[:, None, :], dim=2) - right) / n
        moved += (error @ w2).mul_(hidden > 0.0)
        w2 = w2 - step_size * (error.transpose(1, 2) @ hidden)
        b2 = b2 - step_size * error.sum(dim=1)
    pooled = moved.reshape(c * n, -1)
    change = pooled.T @ flat.reshape(c * n, -1)
    ended = (
        c * w1 - step_size * change,
        c * b1 - step_size * pooled.sum(dim=0),
        w2.sum(dim=0),
        b2.sum(dim=0),
    )
    return dict(zip(network.names, ended, strict=True))
