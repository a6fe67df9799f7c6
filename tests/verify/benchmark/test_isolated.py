"""The process of one's own methods: what an interrupted fit leaves behind."""

from types import SimpleNamespace

import pytest

from verify.benchmark import isolated


class Process:
    """A worker that records what happens to it, and whose fit does not end well."""

    def __init__(self, error):
        self.error, self.ended, self.sent = error, False, []
        self.connection = SimpleNamespace(send_bytes=self.sent.append, poll=self.poll)
        self.process = SimpleNamespace(wait=lambda _seconds=None: None, returncode=-9)

    def poll(self, _limit):
        if self.error is None:
            return False
        raise self.error

    def end(self):
        self.ended = True


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (EOFError(), isolated.FitFailed),
        (None, isolated.TooLong),
    ],
)
def test_a_process_whose_answer_nobody_took_is_ended(monkeypatch, error, raised):
    """Its answer would be taken for that of the next fit."""
    worker = Process(error)
    monkeypatch.setattr(isolated, "_local", SimpleNamespace(worker=worker))
    monkeypatch.setattr(isolated.time, "monotonic", iter((10.0, 10.75)).__next__)
    with pytest.raises(raised) as found:
        isolated.fit_isolated("my.py:Mean", [{}], None, 0, 1.0)
    if raised is isolated.FitFailed:
        assert found.value.seconds == 0.75
    assert len(worker.sent) == 1
    assert worker.ended
    assert isolated._local.worker is None


@pytest.mark.parametrize("code", ["", "import os; os.close({descriptor})"])
def test_a_process_that_ends_at_its_start_is_told(monkeypatch, code):
    """A fit had failed with `EOFError` and no more words."""
    monkeypatch.setattr(isolated, "_MAIN", f"{code}  # {{path}} {{descriptor}}")
    monkeypatch.setattr(isolated, "_local", SimpleNamespace())
    with pytest.raises(isolated.FitFailed, match="the process for own methods does not start"):
        isolated.fit_isolated("my.py:Mean", [{}], None, 0, 1.0)
    assert not hasattr(isolated._local, "worker")
