"""How often Python looks for cycles of objects that nobody uses any more."""

from __future__ import annotations

import gc

#: New objects between two collections.
RARELY = 10_000


def collect_rarely() -> None:
    """Have this process look for unused cycles after 10,000 new objects at the least.

    Python looks after 700, and each full collection takes a tenth of a second: the modules of
    claims hold a million objects, nearly all of which live as long as the process.  A larger number
    of the user's stays, and so does zero, with which nothing is collected.

    Examples
    --------
    >>> before = gc.get_threshold()
    >>> gc.set_threshold(700, 10, 10)
    >>> collect_rarely()
    >>> gc.get_threshold()[0]
    10000
    >>> gc.set_threshold(*before)
    """
    new, *others = gc.get_threshold()
    if new:
        gc.set_threshold(max(new, RARELY), *others)
