"""The options and the result of `trials.ifca.options`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trials.checks import (
    MAX_LOCAL_STEPS,
    BoolArray,
    FloatArray,
    IntArray,
    integer_between,
    one_of,
    real_between,
)


@dataclass(frozen=True, kw_only=True)
class IfcaOptions:
    """The choices that Algorithm 2 leaves open.

    Attributes
    ----------
    averaging : ``"gradient"`` (option I) or ``"model"`` (option II).
    local_steps : tau in 1..10^6, and 1 with option I.
    step_decay : in (0, 1], the factor by which the step size falls each iteration.
    batch_size : rows of a mini-batch, at most those of the client.  None means all of them.
    n_participants : size of the random subset M_t, drawn uniformly.  None means all m.
    shared : (d,) booleans, the coordinates that all clusters share.  None means that there are
        none.
    stable_after : iterations without a change after which identities are settled.  None means
        never.
    """

    averaging: Literal["gradient", "model"] = "gradient"
    local_steps: int = 1
    step_decay: float = 1.0
    batch_size: int | None = None
    n_participants: int | None = None
    shared: BoolArray | None = None
    stable_after: int | None = None

    def __post_init__(self) -> None:
        one_of("averaging", self.averaging, ("gradient", "model"))
        one = self.averaging == "gradient"
        most, why = (1, "option I takes one gradient") if one else (MAX_LOCAL_STEPS, "")
        checked: dict[str, float] = {
            "local_steps": integer_between("local_steps", self.local_steps, 1, most, why),
            "step_decay": real_between("step_decay", self.step_decay, 0.0, 1.0, open_low=True),
        }
        for name in ("batch_size", "n_participants", "stable_after"):
            if getattr(self, name) is not None:
                checked[name] = integer_between(name, getattr(self, name), 1)
        for name, value in checked.items():  # plain numbers, whatever their type was
            object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class OptionsResult:
    """The results of R runs of T iterations, and the floats that they sent.

    Attributes
    ----------
    models : (R, k, d) final models.  Those of a diverged run are its last bounded ones.
    labels : (R, m) each client's last identity estimate, -1 where it was never asked.
    label_changes : (T, R) participants whose estimate differs from their last one.  A first
        estimate counts.  It is 0 after a divergence.
    participants : (T, p) the subsets M_t, increasing.
    status : (R,) `trials.ifca.linear.RunStatus`.
    n_steps : (R,) updates that were applied.
    settled_at : (R,) the first iteration that sent one model to a client, T where none did.
    down, up : (T, R) floats from the centre and to it (`trials.ifca.communication`), 0 after a
        divergence.
    """

    models: FloatArray
    labels: IntArray
    label_changes: IntArray
    participants: IntArray
    status: NDArray[np.int8]
    n_steps: IntArray
    settled_at: IntArray
    down: IntArray
    up: IntArray
