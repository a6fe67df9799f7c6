"""The papers' networks in PyTorch, as functions of a dict of parameters.

TIT 2022, Section VI: one hidden layer of 200 rectified units (rotated MNIST); two convolutions and
two dense layers (rotated CIFAR); the same with a maximum over 2 x 2 after each convolution, where
all layers but the last are shared (FEMNIST).  The numbers of filters and of dense units are not
printed: 5 x 5 filters, 32 and 64 of them, and 128 dense units by default, smaller ones on request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trials.checks import InvalidParameter
from trials.parameters import Integer, Real, validated

Tensor = Any
Weights = dict[str, Tensor]


def load_torch() -> Any:
    """PyTorch, or one line that says how to install it."""
    try:
        import torch
    except ImportError:
        raise InvalidParameter(
            "networks need PyTorch: pip install 'cfl-verify[networks]'; its CPU wheel is enough"
        ) from None
    return torch


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network as functions of its parameters.

    Attributes
    ----------
    init : ``seed -> parameters``, PyTorch's own random start (uniform, by the inputs of a layer).
    scores : ``(parameters, images (b, channels, side, side)) -> (b, classes)``.
    names : of the parameters, from the first layer to the last.
    one_hidden : whether it has one hidden dense layer and nothing else, which can be trained in
        the span of a client's images (`trials.networks.training`).
    """

    init: Callable[[int], Weights]
    scores: Callable[[Weights, Tensor], Tensor]
    names: tuple[str, ...]
    one_hidden: bool = False

    @property
    def all_but_last(self) -> tuple[str, ...]:
        """The parameters of every layer but the last, which the paper shares on FEMNIST."""
        return self.names[:-2]


@validated(channels=Integer(1), side=Integer(4), hidden=Integer(1), classes=Integer(2))
def dense_network(
    *, channels: int = 1, side: int = 28, hidden: int = 200, classes: int = 10
) -> Network:
    """One hidden layer of rectified units."""
    nn = load_torch().nn

    def layers() -> list[Any]:
        return [nn.Flatten(), nn.Linear(channels * side * side, hidden), nn.ReLU(),
                nn.Linear(hidden, classes)]  # fmt: skip

    return _network(layers, one_hidden=True)


@validated(
    channels=Integer(1), side=Integer(4), first=Integer(1), second=Integer(1), hidden=Integer(1),
    classes=Integer(2), centre=Real(0.0, 1.0),
)  # fmt: skip
def convolutional_network(
    *, channels: int = 3, side: int = 32, first: int = 32, second: int = 64, hidden: int = 128,
    classes: int = 10, centre: float = 0.0,
) -> Network:  # fmt: skip
    """Two 5 x 5 convolutions, each with a 2 x 2 maximum, then two dense layers.

    ``centre`` is subtracted from every pixel first.
    """
    nn = load_torch().nn

    def layers() -> list[Any]:
        # The maximum first: it commutes with the rectifier, which then has a quarter of the values.
        return [
            nn.Conv2d(channels, first, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(),
            nn.Conv2d(first, second, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(),
            nn.Flatten(), nn.Linear(second * (side // 4) ** 2, hidden), nn.ReLU(),
            nn.Linear(hidden, classes),
        ]  # fmt: skip

    return _network(layers, centre=centre)


def _network(
    layers: Callable[[], list[Any]], one_hidden: bool = False, centre: float = 0.0
) -> Network:
    torch = load_torch()
    frame = torch.nn.Sequential(*layers())

    def init(seed: int) -> Weights:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            fresh = torch.nn.Sequential(*layers())
        return {name: value.detach() for name, value in fresh.named_parameters()}

    def scores(weights: Weights, x: Tensor) -> Tensor:
        return torch.func.functional_call(frame, weights, (x - centre if centre else x,))

    names = tuple(name for name, _ in frame.named_parameters())
    return Network(init=init, scores=scores, names=names, one_hidden=one_hidden)
