"""What a strategy makes of given draws: the ranges that it asks for are compared as well."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Turn = tuple[st.SearchStrategy[Any], Any]


class Answers:
    """A ``draw`` that requires the strategies of its turns, in their order, and gives the answers.

    Strategies are equal where they print alike: that shows all their arguments.
    """

    def __init__(self, *turns: Turn) -> None:
        self._turns = list(turns)

    def __call__(self, strategy: st.SearchStrategy[Any]) -> Any:
        assert self._turns, f"nothing more was to be drawn than {strategy}"
        wanted, answer = self._turns.pop(0)
        assert repr(strategy) == repr(wanted)
        return answer

    def end(self) -> None:
        """Require that all turns are over."""
        assert not self._turns, self._turns


def made_of(strategy: st.SearchStrategy[Any], *turns: Turn) -> Any:
    """The value of a composite strategy whose draws have these answers."""
    composite: Any = strategy.wrapped_strategy  # type: ignore[attr-defined]
    draw = Answers(*turns)
    value = composite.definition(draw, *composite.args, **composite.kwargs)
    draw.end()
    return value
