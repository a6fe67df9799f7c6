"""How many blocks one message holds follows from their declared or measured times."""

from dataclasses import replace

import pytest

from tests.trials.toys import TOY
from trials.run.block import Task
from trials.run.costs import Costs


def blocks(n, owner=TOY, **params):
    cell = TOY.check(params)
    return [Task(owner, cell, 0, block) for block in range(n)]


def test_costs_are_the_declared_ones_or_a_running_mean():
    costs = Costs()
    (task,) = blocks(1)
    assert costs.seconds(task) is None
    for seconds in (10.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1):  # the first one compiled
        costs.measured(task, seconds)
    assert 0.1 <= costs.seconds(task) < 0.2
    declared = replace(task, experiment=replace(TOY, cost=lambda params: 0.25))
    assert costs.seconds(declared) == 0.25 * 16
    broken = replace(task, experiment=replace(TOY, cost=lambda params: float("nan")))
    assert costs.seconds(broken) == costs.seconds(task)


def test_a_cell_does_not_speak_for_another_one():
    """Thirty blocks of a second each are not sent together because others took a millisecond."""
    costs = Costs()
    short, long = blocks(30, mean=1.0), blocks(30, mean=2.0)
    costs.measured(short[0], 0.001)
    assert costs.count_first([*long, *short], seconds=0.05, most=32) == 1
    assert costs.count_first([*short, *long], seconds=0.05, most=32) == 30
    costs.measured(long[0], 1.0)
    assert costs.count_first(long, seconds=0.05, most=32) == 1
    again = blocks(1, mean=1.0)[0]  # the same cell, demanded anew
    assert costs.seconds(again) == 0.001


@pytest.mark.parametrize(
    ("seconds", "most", "count"), [(0.05, 32, 12), (0.05, 9, 9), (0.0401, 32, 10), (0.0, 32, 1)]
)
def test_a_message_is_as_long_as_its_blocks_together(seconds, most, count):
    """Ten blocks take .004 s each, and then some take .005: 10 * .004 + 2 * .005 = .05."""
    first, second = (
        blocks(n, owner=replace(TOY, cost=lambda params: params["mean"] / 16), mean=mean)
        for n, mean in ((10, 0.00399), (20, 0.005))
    )
    second = [replace(task, experiment=first[0].experiment) for task in second]
    assert Costs().count_first([*first, *second], seconds=seconds, most=most) == count


def test_a_message_ends_before_other_work():
    costs, task = Costs(), blocks(1)[0]
    other = blocks(1, owner=replace(TOY, name="test.other", cost=lambda params: 0.0))[0]
    costs.measured(task, 0.0)
    assert costs.count_first([task, task, other, task], seconds=1.0, most=32) == 2
    assert costs.count_first([task, ("a call", b""), task], seconds=1.0, most=32) == 1


def test_a_message_holds_one_root_seed():
    """It names the seed once: blocks of a second seed were computed from the first one."""
    owner = replace(TOY, cost=lambda params: 0.0)
    tasks = [replace(task, root_seed=seed) for seed in (1, 1, 2, 1) for task in blocks(1, owner)]
    counts = []
    while tasks:
        counts.append(Costs().count_first(tasks, seconds=1.0, most=32))
        del tasks[: counts[-1]]
    assert counts == [2, 1, 1]
