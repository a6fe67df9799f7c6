"""Which signals end the program, and with which status."""

import os
import signal

import pytest

from verify.cli import exits, signals


@pytest.fixture
def handlers(monkeypatch):
    """Signal -> its handler, of a process whose signals stay as they are."""
    found = {signal.SIGINT: signal.default_int_handler}
    monkeypatch.setattr(signals, "_previous", None)
    monkeypatch.setattr(signal, "getsignal", lambda number: found.get(number, signal.SIG_DFL))

    def put(number, handler):
        before, found[number] = found.get(number, signal.SIG_DFL), handler
        return before

    monkeypatch.setattr(signal, "signal", put)
    return found


def test_the_first_process_of_a_container_ends_itself_with_the_documented_status(
    handlers, monkeypatch
):
    """To it SIGTERM did nothing: a stopped container was killed when its time was over."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    handlers[signal.SIGHUP] = signal.SIG_IGN  # nohup
    left = []
    monkeypatch.setattr(os, "_exit", left.append)
    signals.quick_exit()
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    assert left == [exits.TERMINATED]
    assert handlers[signal.SIGHUP] is signal.SIG_IGN
    handlers[signal.SIGHUP] = signal.SIG_DFL
    signals.quick_exit()
    handlers[signal.SIGHUP](signal.SIGHUP, None)
    assert left == [exits.TERMINATED, exits.HUNG_UP]


def test_the_system_ends_any_other_process(handlers, monkeypatch):
    monkeypatch.setattr(os, "getpid", lambda: 2)
    signals.quick_exit()
    assert set(handlers) == {signal.SIGINT}


def test_an_interrupt_is_raised_again_once_work_has_begun(handlers):
    signals.quick_exit()
    assert handlers[signal.SIGINT] is signals._end
    signals.interruptible()
    assert handlers[signal.SIGINT] is signal.default_int_handler
    handlers[signal.SIGINT] = signal.SIG_IGN  # a job in the background
    signals.quick_exit()
    signals.interruptible()
    assert handlers[signal.SIGINT] is signal.SIG_IGN
