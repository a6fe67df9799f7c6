"""Work on a run that says how it goes on when it is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from trials.run.block import TrialsRaised, WrongValues
from trials.run.executors import ExecutorError
from trials.run.store import Hindered
from verify.cli import exits

#: What to do about an experiment that is wrong itself: its code will be another one.
_MEND = "mend the experiment and start a new run, as changed code does not continue this one"


@contextmanager
def stoppable(go_on: str) -> Iterator[None]:
    """Add how work goes on to the line that tells what has stopped it.

    An interrupt, lost workers, a full disk and a full memory leave a run that can go on.  A wrong
    experiment does not.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise exits.Stopped(exits.INTERRUPTED, f"interrupted: {go_on}") from None
    except (TrialsRaised, WrongValues) as error:
        raise exits.Stopped(exits.USAGE, f"{error}; {_MEND}") from error
    except (ExecutorError, Hindered) as error:
        raise exits.Stopped(exits.USAGE, f"{error}; {go_on}") from error
    except (MemoryError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader has ended, and no line reaches it
            raise
        raise exits.Stopped(exits.USAGE, f"{exits.explain(error)[1]}; {go_on}") from error
