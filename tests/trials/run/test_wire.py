"""Messages to a worker and back within one process: every field of a reply changed, one by one."""

import pickle
from dataclasses import dataclass, replace
from typing import TypedDict

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trials.toys import TOY
from trials.checks import InvalidParameter
from trials.run import experiment as experiment_module
from trials.run import wire
from trials.run.block import BlockResult, ExecutorError, Task, simulate_block
from trials.run.cell import cell_number
from trials.run.machine import arithmetic
from trials.run.provenance import CodeMismatch, code_of
from trials.run.store.decoding import Undecodable, decode
from trials.run.wire import answer, pack_blocks, pack_call, unpack_blocks, unpack_value


def task(block=0, seed=7, **params):
    return Task(TOY, TOY.check(params), seed, block)


TASKS = [task(0), task(3), task(2, mean=1.0), task(1, mode="diverges")]


def reply_to(tasks):
    return pickle.loads(answer(pack_blocks(tasks)))


def unpacked(reply, tasks=TASKS):
    return unpack_blocks(tasks, pickle.dumps(reply))


@settings(max_examples=20, deadline=None)
@given(
    blocks=st.lists(
        st.tuples(
            st.integers(0, 2**32 - 1),
            st.sampled_from(["plain", "diverges", "raises", "overflows"]),
            st.floats(-5, 5),
        ),
        min_size=1, max_size=4,
    ),
    seed=st.integers(0, 2**128 - 1),
)  # fmt: skip
def test_blocks_that_travel_are_those_that_stay(blocks, seed):
    tasks = [task(block, seed, mode=mode, mean=mean) for block, mode, mean in blocks]
    found = unpack_blocks(tasks, answer(pack_blocks(tasks)))
    assert len(found) == len(tasks)
    for one, result in zip(tasks, found, strict=True):
        here = simulate_block(one)
        assert result.values.tobytes() == here.values.tobytes()
        assert (result.reasons, result.raised) == (here.reasons, here.raised)
        assert result.machine == arithmetic()


@pytest.mark.parametrize("at", range(3))
def test_the_blocks_before_an_error_arrive_and_the_error_follows_them(at):
    tasks = [*TASKS[:at], task(5, mode="memory"), *TASKS[at:]]
    found = unpack_blocks(tasks, answer(pack_blocks(tasks)))
    assert [type(each) for each in found] == [BlockResult] * at + [MemoryError]
    for one, result in zip(tasks, found[:at], strict=False):
        assert result.values.tobytes() == simulate_block(one).values.tobytes()
    assert any("in worker" in note for note in found[-1].__notes__)


@pytest.mark.parametrize("at", range(len(TASKS)))
@pytest.mark.parametrize("change", ["cell", "block", "result", "silent"])
def test_a_block_that_is_not_the_one_asked_for_ends_the_list_with_an_error(at, change):
    reply = reply_to(TASKS)
    cell, block, result = reply.blocks[at]
    hidden = np.where(np.arange(32).reshape(16, 2) == 5, np.inf, 1.0)
    changed = {
        "cell": (cell ^ 1, block, result),
        "block": (cell, block + 1, result),
        "result": (cell, block, None),
        "silent": (cell, block, BlockResult(hidden, (), 0.1)),
    }[change]
    blocks = (*reply.blocks[:at], changed, *reply.blocks[at + 1 :])
    found = unpacked(replace(reply, blocks=blocks))
    assert len(found) == at + 1
    assert all(isinstance(each, BlockResult) for each in found[:at])
    assert isinstance(found[-1], ExecutorError)
    if change in ("cell", "block"):
        asked = (
            f"in place of block {TASKS[at].block} of test.toy:{cell_number(TASKS[at].params):016x}"
        )
        assert str(found[-1]).endswith(asked)
        assert f"returned block {changed[1]} of cell {changed[0]:016x}" in str(found[-1])


@pytest.mark.parametrize("n", range(len(TASKS)))
def test_missing_blocks_are_the_workers_error_or_one_about_their_number(n):
    reply = reply_to(TASKS)
    short = replace(reply, blocks=reply.blocks[:n])
    *before, last = unpacked(short)
    assert len(before) == n
    assert "returned too few blocks" in str(last)
    own = OSError("the disk is gone")
    assert str(unpacked(replace(short, error=own))[-1]) == str(own)


def test_more_blocks_than_asked_for_are_refused_as_too_many():
    """Before, they were "too few" in one process, and the first ones were taken by a cluster."""
    for asked in (TASKS[:1], TASKS[:3]):
        (refused,) = unpack_blocks(asked, pickle.dumps(reply_to(TASKS)))
        assert isinstance(refused, ExecutorError)
        assert str(refused).endswith("returned too many blocks")


@pytest.mark.parametrize(
    "machine",
    [
        None, {}, [("cpu", "x")], {"cpu": 1}, {1: "x"}, {"cpu": "two\nlines"}, {"\x1b[31m": "x"},
        {"cpu": "x" * 201}, {str(i): "x" for i in range(21)},
    ],
    ids=repr,
)  # fmt: skip
def test_a_worker_that_does_not_say_where_it_runs_is_refused(machine):
    (found,) = unpacked(replace(reply_to(TASKS), machine=machine))
    assert isinstance(found, ExecutorError)
    assert "does not say on which machine it runs" in str(found)


@pytest.mark.parametrize("n", [1, 20])
def test_a_machine_of_up_to_twenty_facts_is_taken(n):
    facts = {str(i): "x" * 200 for i in range(n)}
    assert [each.machine for each in unpacked(replace(reply_to(TASKS), machine=facts))] == (
        [facts] * len(TASKS)
    )


def test_other_code_is_named_and_takes_the_place_of_all_blocks():
    parts = dict(code_of(TOY).parts)
    name = next(iter(parts))
    reply = reply_to(TASKS)
    (found,) = unpacked(replace(reply, other_code=parts | {name: "0" * 64}))
    assert isinstance(found, CodeMismatch)
    assert reply.worker in str(found)
    assert f"experiment {TOY.name}" in str(found)
    assert "a module that has no file" not in str(found)
    (found,) = unpacked(replace(reply, other_code=parts))
    assert "a module that has no file" in str(found)


@pytest.mark.parametrize("design", range(3))
def test_a_worker_computes_only_the_experiment_that_was_asked_for(design, monkeypatch):
    change = [{"design": TOY.design + 1}, {"block_size": 8}, {"columns": ("a", "b")}][design]
    message = pack_blocks(TASKS)
    monkeypatch.setitem(experiment_module._REGISTRY, TOY.name, replace(TOY, **change))
    (found,) = unpack_blocks(TASKS, answer(message))
    assert "another version of experiment 'test.toy'" in str(found)


def test_a_worker_with_another_digest_answers_with_its_own_code():
    protocol, message = pickle.loads(pack_blocks(TASKS))
    other = pickle.dumps((protocol, replace(message, digest="0" * 64)))
    reply = pickle.loads(answer(other))
    assert (reply.blocks, reply.error) == ((), None)
    assert reply.other_code == dict(code_of(TOY).parts)


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_message_of_another_protocol_is_refused_by_both_numbers(shift):
    protocol, message = pickle.loads(pack_blocks(TASKS))
    (found,) = unpack_blocks(TASKS, answer(pickle.dumps((protocol + shift, message))))
    assert f"reads messages of version {protocol}, not {protocol + shift}" in str(found)


# -- calls -----------------------------------------------------------------------------------


def total(*numbers):
    return sum(numbers)


def unsendable():
    return lambda: None


def fails():
    raise InvalidParameter("x must be something else")


class Unsendable(Exception):
    def __reduce__(self):
        raise TypeError("sealed")


def fails_unsendably():
    raise Unsendable("the reason")


class Unmakeable(Exception):
    """It can be pickled, and not be made again: its constructor wants two arguments."""

    def __init__(self, place, why):
        super().__init__(f"{why} at {place}")


def fails_unmakeably():
    raise Unmakeable("row 3", "no number")


class Holder:
    @staticmethod
    def double(x):
        return 2 * x


class Sealed:
    def __reduce__(self):
        raise TypeError("sealed")


def test_a_call_returns_its_value_or_raises_its_error():
    for arguments in ((), (1,), (1, 2, 3)):
        assert unpack_value(total, answer(pack_call(total, arguments))) == sum(arguments)
    assert unpack_value(Holder.double, answer(pack_call(Holder.double, (4,)))) == 8
    with pytest.raises(InvalidParameter, match="x must be something else"):
        unpack_value(fails, answer(pack_call(fails, ())))
    with pytest.raises(ExecutorError, match=r"^worker .*: \w*Error: "):
        unpack_value(unsendable, answer(pack_call(unsendable, ())))
    with pytest.raises(ExecutorError, match=r"^worker .*: Unsendable: the reason$"):
        unpack_value(fails_unsendably, answer(pack_call(fails_unsendably, ())))
    with pytest.raises(ExecutorError, match=r"^worker .*: Unmakeable: no number at row 3$"):
        unpack_value(fails_unmakeably, answer(pack_call(fails_unmakeably, ())))


def test_a_function_of_other_code_is_refused_by_its_name():
    protocol, message = pickle.loads(pack_call(total, (1,)))
    other = pickle.dumps((protocol, replace(message, digest="0" * 64)))
    with pytest.raises(CodeMismatch, match=r"has other code for .*test_wire\.total than"):
        unpack_value(total, answer(other))


def test_what_cannot_travel_is_refused_before_it_is_sent():
    with pytest.raises(InvalidParameter, match="must be at the top level of a module"):
        pack_call(lambda: None, ())
    with pytest.raises(InvalidParameter, match=r"test_wire\.total must be picklable \(sealed\)"):
        pack_call(total, (Sealed(),))


def test_an_answer_that_is_none_is_refused():
    for answered, message in ((b"no pickle", "cannot be read"), (pickle.dumps(7), "with a int")):
        with pytest.raises(ExecutorError, match=message):
            wire.unpack_blocks(TASKS, answered)
        with pytest.raises(ExecutorError, match=message):
            unpack_value(total, answered)


# -- stored records --------------------------------------------------------------------------


class Struct(msgspec.Struct):
    first: int
    second: str = ""


@dataclass
class Plain:
    first: int
    second: str = ""


class Typed(TypedDict, total=False):
    first: int


@pytest.mark.parametrize("type_", [Struct, Plain])
def test_a_record_with_a_field_that_this_version_does_not_know_is_refused(type_):
    assert decode('{"first":3}', type_) == type_(3)
    assert decode('{"second":"x","first":3}', type_) == type_(3, "x")
    with pytest.raises(Undecodable, match="unknown field 'later'; a later version"):
        decode('{"first":3,"zeta":1,"later":2}', type_)
    for text in ('{"second":"x"}', '{"first":"3"}', "[3]", "3", "null"):
        with pytest.raises(Undecodable, match="is not as expected"):
            decode(text, type_)


def test_a_mapping_may_have_further_fields():
    assert decode('{"first":3,"later":2}', Typed)["first"] == 3
    assert decode('{"first":3,"later":2}', dict[str, int]) == {"first": 3, "later": 2}
