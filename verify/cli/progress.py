"""The progress display of a run: live on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from trials.run.engine import Demand
from verify.cli.screen import say
from verify.cli.verdicts import print_line
from verify.session import Listener, Outcome

#: Seconds between two plain lines.
QUIET = 10.0


@contextmanager
def display(to: Console) -> Iterator[Listener]:
    """The callbacks of a run that draw its progress on a console."""
    if not to.is_terminal:
        yield _plain_listener(to)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=to, transient=True) as progress:
        # Both are shown from the first call on, when it is known how many there are.
        claims = progress.add_task("claims", total=None, visible=False)
        blocks = progress.add_task("blocks", total=None, visible=False)

        def on_claim(name: str, i: int, n: int) -> None:
            label = escape(_cut(name))
            progress.update(claims, description=label, completed=i, total=n, visible=True)
            progress.update(blocks, visible=False)

        def on_block(done: int, total: int, demand: Demand, n_failed: int) -> None:
            label = f"  {demand.experiment.name}" + (f" ({n_failed} failed)" if n_failed else "")
            progress.update(
                blocks, description=escape(_cut(label)), completed=done, total=total, visible=True
            )

        yield Listener(on_claim=on_claim, on_block=on_block, on_outcome=_printer(to))


def _cut(text: str, longest: int = 36) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _printer(to: Console):  # type: ignore[no-untyped-def]
    def on_outcome(outcome: Outcome) -> None:
        print_line(outcome, to)

    return on_outcome


def _plain_listener(to: Console) -> Listener:
    last = [time.monotonic()]

    def due() -> bool:
        if time.monotonic() - last[0] <= QUIET:
            return False
        last[0] = time.monotonic()
        return True

    def on_claim(name: str, i: int, n: int) -> None:
        if due():
            say(f"  claim {i + 1} of {n}: {name}", to=to)

    def on_block(done: int, total: int, demand: Demand, n_failed: int) -> None:
        if due():
            say(f"  {demand.experiment.name}: {done}/{total} blocks, {n_failed} failed", to=to)

    return Listener(on_claim=on_claim, on_block=on_block, on_outcome=_printer(to))
