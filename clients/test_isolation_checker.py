"""The checker of histories finds every anomaly that it knows, and none in histories without."""

from __future__ import annotations

import pytest

from isolation.checker import EXCLUDED, Anomaly, check, excluded
from isolation.history import Add, Append, Outcome, Read, ReadGroup, Replace, Transaction

COMMITTED, ABORTED, UNKNOWN = Outcome.COMMITTED, Outcome.ABORTED, Outcome.UNKNOWN


def history(*transactions) -> list[Transaction]:
    """Each is a list of operations, or such a list and an outcome."""
    made = []
    for number, transaction in enumerate(transactions, 1):
        operations, outcome = transaction if isinstance(transaction, tuple) else (transaction, COMMITTED)
        made.append(Transaction(number, tuple(operations), outcome))
    return made


def group(*values: int) -> frozenset[int]:
    return frozenset(values)


WRONG = {
    "does not see its own append": (Anomaly.INTERNAL, history([Append(1, 1), Read(1, ())], [Read(1, (1,))])),
    "does not see its own row": (Anomaly.INTERNAL, history([Add(1, 1), ReadGroup(1, group())])),
    "committed append is gone": (
        Anomaly.LOST_WRITE,
        history([Append(1, 1)], [Append(1, 2)], [Read(1, (2,))]),
    ),
    "lists fork": (
        Anomaly.INCOMPATIBLE,
        history([Append(1, 1)], [Append(1, 2)], [Read(1, (1, 2))], [Read(1, (2,))]),
    ),
    "value twice": (Anomaly.INCOMPATIBLE, history([Append(1, 1)], [Read(1, (1, 1))])),
    "value of nobody": (Anomaly.INCOMPATIBLE, history([Read(1, (7,))])),
    "aborted append is read": (Anomaly.G1A, history(([Append(1, 1)], ABORTED), [Read(1, (1,))])),
    "aborted row is read": (Anomaly.G1A, history(([Add(1, 1)], ABORTED), [ReadGroup(1, group(1))])),
    "first of two appends is read": (
        Anomaly.G1B,
        history([Append(1, 1), Append(1, 2)], [Read(1, (1,))], [Read(1, (1, 2))]),
    ),
    "writes in two orders": (
        Anomaly.G0,
        history(
            [Append(1, 1), Append(2, 1)], [Append(1, 2), Append(2, 2)], [Read(1, (1, 2))], [Read(2, (2, 1))]
        ),
    ),
    "each reads what the other wrote": (
        Anomaly.G1C,
        history([Append(1, 1), Read(2, (2,))], [Append(2, 2), Read(1, (1,))]),
    ),
    "two lists of two moments": (
        Anomaly.G_SINGLE,
        history([Append(1, 1), Append(2, 1)], [Read(1, ()), Read(2, (1,))], [Read(1, (1,))]),
    ),
    "two write on the same version": (
        Anomaly.LOST_UPDATE,
        history([Append(1, 1)], [Replace(1, (1,), 2)], [Replace(1, (1,), 3)], [Read(1, (1, 3))]),
    ),
    "append after a read that is overtaken": (
        Anomaly.G_SINGLE,
        history([Read(1, ()), Append(1, 1)], [Read(1, ()), Append(1, 2)], [Read(1, (1, 2))]),
    ),
    "two see two writes in two orders": (
        Anomaly.G_SI,
        history([Append(1, 1)], [Append(2, 2)], [Read(1, (1,)), Read(2, ())], [Read(1, ()), Read(2, (2,))]),
    ),
    "write skew": (
        Anomaly.G2_ITEM,
        history([Read(1, ()), Append(2, 1)], [Read(2, ()), Append(1, 2)], [Read(1, (2,)), Read(2, (1,))]),
    ),
    "both find nobody and both insert": (
        Anomaly.G2,
        history([ReadGroup(1, group()), Add(1, 1)], [ReadGroup(1, group()), Add(1, 2)]),
    ),
    "two groups of two moments": (
        Anomaly.G_SINGLE_PREDICATE,
        history([Add(1, 1), Add(2, 2)], [ReadGroup(1, group()), ReadGroup(2, group(2))]),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_anomaly_is_found(name):
    anomaly, wrong = WRONG[name]
    found = check(wrong)
    assert anomaly in {one.anomaly for one in found}, found
    assert excluded("SERIALIZABLE", found), "and SERIALIZABLE excludes all of them"
    assert all(str(one) for one in found)


def test_every_anomaly_has_a_history():
    assert {anomaly for anomaly, _ in WRONG.values()} == set(Anomaly)


RIGHT = {
    "nothing": history(),
    "one after the other": history(
        [Append(1, 1)],
        [Read(1, (1,)), Append(1, 2), Read(1, (1, 2))],
        [Read(1, (1, 2)), Append(2, 3)],
        [Read(1, (1, 2)), Read(2, (3,))],
    ),
    "an aborted one that nobody saw": history(([Append(1, 1)], ABORTED), [Read(1, ())]),
    "an unknown one that committed": history(([Append(1, 1)], UNKNOWN), [Read(1, (1,))]),
    "an unknown one that did not": history(([Append(1, 1)], UNKNOWN), [Read(1, ())]),
    "reads and computes": history(
        [Replace(1, (), 1)], [Read(1, (1,)), Replace(1, (1,), 2)], [Read(1, (1, 2))]
    ),
    "groups": history([ReadGroup(1, group()), Add(1, 1)], [ReadGroup(1, group(1)), Add(1, 2)]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_histories_are_let_through(name):
    assert check(RIGHT[name]) == []


def test_levels_exclude_what_they_should():
    def levels(name: str) -> set[str]:
        found = check(WRONG[name][1])
        return {level for level in EXCLUDED if excluded(level, found)}

    every = set(EXCLUDED)
    above = {"REPEATABLE READ", "SNAPSHOT", "SERIALIZABLE"}
    assert levels("aborted append is read") == every
    assert levels("first of two appends is read") == every
    assert levels("writes in two orders") == every
    assert levels("each reads what the other wrote") == every
    assert levels("two lists of two moments") == above
    assert levels("two write on the same version") == above
    assert levels("append after a read that is overtaken") == above
    assert levels("two see two writes in two orders") == above
    assert levels("write skew") == {"REPEATABLE READ", "SERIALIZABLE"}
    assert levels("both find nobody and both insert") == {"SERIALIZABLE"}
    assert levels("two groups of two moments") == {"SNAPSHOT", "SERIALIZABLE"}
