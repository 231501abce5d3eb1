"""Ports: the latest message wins, nothing waits, and types must match."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.errors import BadValue
from farhand.link.messages import ArmJoints, FlagMessage, Flow, ForceFeedback, InPort, OutPort


def pair(kind):
    """A connected pair."""
    out, port = OutPort("out", kind), InPort("in", kind)
    port.connect(out)
    return out, port


def test_a_burst_leaves_only_the_last_message():
    """No queue: what nobody read is forgotten."""
    out, port = pair(ForceFeedback)
    for value in range(5):
        out.write(ForceFeedback(np.full(3, float(value))))
    flow, message = port.read()
    assert flow is Flow.NEW and message.value.tolist() == [4.0] * 3
    assert port.read()[0] is Flow.OLD


def test_a_port_that_was_never_written_says_so():
    """The primed sample is not a message."""
    _, port = pair(FlagMessage)
    assert port.read() == (Flow.NONE, None)
    assert InPort("alone", FlagMessage).read() == (Flow.NONE, None)


def test_two_readers_of_one_writer_do_not_take_from_each_other():
    """Each has seen what it has seen."""
    out, one = pair(FlagMessage)
    other = InPort("other", FlagMessage)
    other.connect(out)
    out.write(FlagMessage(True))
    assert one.read()[0] is Flow.NEW and other.read()[0] is Flow.NEW and one.read()[0] is Flow.OLD


def test_what_was_read_does_not_change_when_more_is_written():
    """A message belongs to its reader."""
    out, port = pair(ArmJoints)
    out.write(ArmJoints(np.ones(5)))
    _, message = port.read()
    out.write(ArmJoints(np.zeros(5)))
    assert message.value.tolist() == [1.0] * 5


def test_a_wrong_type_is_refused_at_both_ends():
    """When connecting and when writing."""
    out, port = OutPort("out", FlagMessage), InPort("in", ArmJoints)
    with pytest.raises(BadValue, match="ArmJoints.*Flag"):
        port.connect(out)
    with pytest.raises(BadValue, match="takes FlagMessage, not ArmJoints"):
        out.write(ArmJoints(np.zeros(5)))
