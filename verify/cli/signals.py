"""The effect of Ctrl-C.  While modules load it ends the process, later it interrupts the work.

An interrupt in the middle of an import surfaces as any exception of any library.  Nothing has been
written by then, so the process may simply end.  Work that writes calls `interruptible` first.

The system ends a process by SIGTERM and SIGHUP without its help, but not the first process of a
container, which must do it itself.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

INTERRUPTED = 130

_previous: Any = None


def _end(_number: int, _frame: Any) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def _end_first(number: int, _frame: Any) -> None:
    os._exit(128 + number)


def quick_exit() -> None:
    """From now on an interrupt ends the process at once.  An ignored signal stays ignored."""
    global _previous
    if threading.current_thread() is not threading.main_thread():
        return
    if os.getpid() == 1:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name)
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end_first)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        _previous = signal.signal(signal.SIGINT, _end)


def interruptible() -> None:
    """From now on an interrupt raises `KeyboardInterrupt`, so that finished work can be kept."""
    global _previous
    if _previous is not None:
        signal.signal(signal.SIGINT, _previous)
        _previous = None
