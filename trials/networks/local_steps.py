"""Local gradient steps of clients: in the images' span, one client at a time, or by `torch.func`.

All give the parameters after the same steps.  Full gradients of a network with one hidden layer
move its first weights only in the span of the client's n images:

    W_t = W_0 - gamma A_t^T X,    X W_t^T = X W_0^T - gamma (X X^T) A_t,

with X (n, d) and A_t (n, h).  So a step costs n n h products instead of n d h, and no client needs
weights of its own.  It is the same step: only the rounding differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trials.checks import FloatArray, IntArray
from trials.ifca.functions import Model
from trials.networks.architectures import Network, Tensor, Weights, load_torch


def softmax_loss(network: Network, weights: Weights, x: Tensor, y: Tensor) -> Tensor:
    """The mean of -log softmax(scores)_y over a client's images."""
    cross_entropy = load_torch().nn.functional.cross_entropy
    return cross_entropy(network.scores(weights, x), y)


def as_functions(network: Network) -> Model:
    """The network for `trials.ifca.functions`, which calls it a client at a time.

    A client's data are ``(images (n, channels, side, side), classes (n,))``, and the parameters are
    a dict of float32 arrays.
    """
    torch = load_torch()

    def tensors(weights: dict[str, FloatArray], data: tuple[FloatArray, IntArray]) -> Any:
        x, y = (torch.from_numpy(np.ascontiguousarray(each)) for each in data)
        own = {name: torch.as_tensor(leaf, dtype=x.dtype) for name, leaf in weights.items()}
        return own, x, y

    def loss(weights: dict[str, FloatArray], data: tuple[FloatArray, IntArray]) -> float:
        return float(softmax_loss(network, *tensors(weights, data)))

    def gradient(
        weights: dict[str, FloatArray], data: tuple[FloatArray, IntArray]
    ) -> dict[str, FloatArray]:
        found = torch.func.grad(lambda own, x, y: softmax_loss(network, own, x, y))(
            *tensors(weights, data)
        )
        return {name: leaf.numpy() for name, leaf in found.items()}

    def init(rng: np.random.Generator) -> dict[str, FloatArray]:
        return {name: leaf.numpy() for name, leaf in network.init(int(rng.integers(2**31))).items()}

    return Model(init=init, loss=loss, gradient=gradient)


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


def one_by_one(
    network: Network, start: Weights, x: list[Tensor], y: list[Tensor], step_size: float
) -> Weights:
    """What `batched` gives, a client at a time: faster for convolutions on a processor.

    A batch of clients with weights of their own is a grouped convolution, which processors do
    slowly.  Images are stored pixel by pixel, because PyTorch's maximum over 2 x 2 is faster so.
    """
    torch = load_torch()
    rows: list[Weights] = []
    stacked = start[network.names[-1]].dim() == 2
    for i in range(len(y[0])):
        own = {name: (leaf[i] if stacked else leaf).clone() for name, leaf in start.items()}
        leaves = [leaf.requires_grad_() for leaf in own.values()]
        for images, labels in zip(x, y, strict=True):
            loss = softmax_loss(network, own, by_pixel(images[i]), labels[i])
            gradients = torch.autograd.grad(loss, leaves)
            with torch.no_grad():
                for leaf, gradient in zip(leaves, gradients, strict=True):
                    leaf.sub_(gradient, alpha=step_size)
        rows.append({name: leaf.detach() for name, leaf in own.items()})
    return {name: torch.stack([row[name] for row in rows]) for name in start}


def by_pixel(images: Tensor) -> Tensor:
    """The same images (b, channels, side, side), with a pixel's channels side by side in memory."""
    return images.contiguous(memory_format=load_torch().channels_last)


def hidden_inputs(network: Network, weights: Weights, x: Tensor) -> Tensor:
    """What the hidden units of a network with one hidden layer get, (c, n, h)."""
    w1, b1 = (weights[name] for name in network.names[:2])
    c, n = x.shape[:2]
    return load_torch().addmm(b1, x.reshape(c * n, -1), w1.T).reshape(c, n, -1)


def scores_of_hidden(network: Network, weights: Weights, inputs: Tensor) -> Tensor:
    """The scores (c n, classes) of images whose hidden units get ``inputs`` (c, n, h)."""
    w2, b2 = (weights[name] for name in network.names[2:])
    return load_torch().addmm(b2, inputs.flatten(0, 1).clamp(min=0.0), w2.T)


def in_span(
    network: Network, start: Weights, x: Tensor, y: Tensor, step_size: float, n_steps: int,
    inputs: Tensor | None = None,
) -> Weights:  # fmt: skip
    """The sum over clients of the parameters after full gradient steps from one start.

    x (c, n, ...) and y (c, n).  The network has one hidden layer.  ``inputs`` are its
    `hidden_inputs` at the start, where they are known.
    """
    torch = load_torch()
    w1, b1, w2, b2 = (start[name] for name in network.names)
    c, n = y.shape
    flat = x.reshape(c, n, -1)
    # The constant input of the hidden biases adds one to every product of two images.
    gram = flat @ flat.transpose(1, 2) + 1.0
    first = hidden_inputs(network, start, x) if inputs is None else inputs
    moved = torch.zeros_like(first)
    w2, b2 = (leaf.expand(c, *leaf.shape) for leaf in (w2, b2))
    right = torch.nn.functional.one_hot(y, w2.shape[1]).to(first.dtype)
    for _ in range(n_steps):
        hidden = torch.baddbmm(first, gram, moved, alpha=-step_size).clamp_(min=0.0)
        error = (torch.softmax(hidden @ w2.transpose(1, 2) + b2[:, None, :], dim=2) - right) / n
        moved += torch.ops.aten.threshold_backward(error @ w2, hidden, 0.0)
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
