"""The session that a leader and a follower of this process share."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from lerobot.utils.errors import DeviceNotConnectedError
from numpy.typing import NDArray

from farhand.client import Client, SessionGone, attach, start
from farhand.errors import FarhandError
from farhand.lerobot_features import PolicyFeatures, pose_of
from farhand.loop.commands import Outcome

Array = NDArray[np.float64]
Numbers = dict[str, float]

logger = logging.getLogger(__name__)

SAME = 1e-6
"""Two actions that differ by no more are the same one; a dataset keeps seven digits."""

TRIES, PAUSE_S = 25, 2e-4
"""How often the newest records are read until follower and coupling are of the same tick; a tick
may be going on."""


ASIDE = ("session.time", "sample.age", "link.age.leader", "link.age.follower")
"""Beside the state: a policy must not learn from the time."""


class Seen(NamedTuple):
    """One look at a session; state and action are of one tick."""

    state: Array  # as the features name it
    action: Numbers  # where the leader wants the follower
    aside: Numbers  # time in the session and ages, [s]; no part of the state


class Start(NamedTuple):
    """How to start a session that is not there."""

    words: str  # of farhand serve
    program: str  # empty: the one on the path


STARTS: dict[str, Start] = {}
"""By name of the session; a configuration says it before any device asks."""

_sessions: dict[tuple[str, str], SharedSession] = {}


def shared(name: str, station: str, wait: float) -> SharedSession:
    """The session of that name, one for all devices of this process."""
    return _sessions.setdefault((name, station), SharedSession(name, station, wait))


@dataclass
class SharedSession:
    """One follower of a session, the leader that leads it, and who of them decides.

    A person leads at first. An action that is not the leader's own is a policy's: it drives the
    follower, and while a leader is connected the leader follows, so that a hand feels it.
    """

    name: str
    station: str
    wait: float
    leader: bool = False  #: whether a leader is connected
    follower: bool = False  #: whether a follower is connected
    led: Numbers = field(default_factory=dict)  #: the leader's last action
    driving: bool = False  #: whether a policy drives
    holding: bool = False  #: whether LeRobot has asked the leader to hold still
    letting_go: bool = False  #: whether it has asked to let go of it since
    _client: Client | None = None
    _features: PolicyFeatures | None = None
    _seen: Array | None = None
    _taken: bool = False
    _observed: Seen | None = None

    @property
    def is_open(self) -> bool:
        """Whether somebody uses it."""
        return self.leader or self.follower

    def client(self) -> Client:
        """The session; started, or waited for, if it is not there.

        Raises:
            DeviceNotConnectedError: there is none.
        """
        if self._client is None:
            self._client = self._open()
        return self._client

    def features(self) -> PolicyFeatures:
        """What state and action consist of."""
        if self._features is None:
            self._features = self._describe(self.client())
        return self._features

    def close(self) -> None:
        """Detach when nobody uses it; a session that was started here ends."""
        if self.is_open or self._client is None:
            return
        client, self._client = self._client, None
        # ends what it has started itself
        with client:
            pass
        self.driving = self.holding = self.letting_go = False

    def read(self) -> Seen:
        """What is there now; a session that has ended is waited for, unless a policy drives."""
        features = self.features()
        try:
            return self._read(features, self.client())
        except SessionGone as error:
            logger.warning("%s", error)
            self._again(features)
            return self._read(features, self.client())

    def observe(self) -> Seen:
        """What is there now, kept for the action that LeRobot asks for next."""
        self._observed = self.read()
        return self._observed

    def take_action(self) -> Numbers:
        """Where the leader wants the follower: at the tick of the observation before, if any."""
        seen, self._observed = self._observed or self.read(), None
        self.led = seen.action
        return dict(self.led)

    def is_led(self, action: Numbers) -> bool:
        """Whether this action is the leader's own."""
        return bool(self.led) and all(
            abs(action[name] - value) <= SAME * max(1.0, abs(value))
            for name, value in self.led.items()
            if name in action
        )

    def drive(self, action: Numbers) -> bool:
        """Send the follower where a policy says; whether it goes there."""
        if self.letting_go or not self.driving:
            # LeRobot has resumed its policy: a person who had taken the follower gives it back
            self.letting_go = self.holding = self._taken = False
            self._give()
        outcome = self._target(action)
        if outcome.done:
            return True
        if self._taken or "taken" in outcome.text:
            if not self._taken:
                logger.warning("%s; pause and resume the policy to go on", outcome.text)
            self._taken = True
            return False
        raise DeviceNotConnectedError(outcome.text)

    def hold(self) -> None:
        """Hold leader and follower where they are."""
        self.letting_go = False
        # a person who has pushed it away keeps it
        if not self.holding and not self._taken:
            self.holding = True
            self._give()
            # where the follower is: its leader is a little behind
            self._target(dict(zip(self.features().state_names, self.read().state, strict=True)))

    def let_go(self) -> None:
        """Let the person lead as soon as somebody asks for the leader's action."""
        self.letting_go = True

    def lead(self) -> None:
        """Let the person lead now, if that was asked for."""
        if self.letting_go:
            if self.driving:
                self._command(lambda client: client.command("take"))
            self.letting_go = self.holding = self.driving = self._taken = False

    def _give(self) -> None:
        """Let a program drive; with a leader the coupling stays, and the leader follows."""
        self.driving = True
        if not self.leader:
            return
        outcome = self._command(lambda client: client.command("give"))
        if not outcome.done:
            logger.warning("the leader does not follow the policy: %s", outcome.text)

    def _target(self, action: Numbers) -> Outcome:
        features = self.features()
        values = np.array([float(action[name]) for name in features.action_names])
        if features.of_joints:
            return self._command(lambda client: client.target(values, station=self.station))
        pose = pose_of(values)
        return self._command(lambda client: client.target(tool=pose, station=self.station))

    def _command(self, command: Callable[[Client], Outcome]) -> Outcome:
        """Command the session; a policy does not command the successor of one that has ended.

        Raises:
            DeviceNotConnectedError: it has ended.
        """
        try:
            return command(self.client())
        except SessionGone as error:
            raise DeviceNotConnectedError(str(error)) from None

    def _read(self, features: PolicyFeatures, client: Client) -> Seen:
        for _ in range(TRIES):
            t, record = client.record(self.station)
            t_coupling, coupling = client.record(self._coupling)
            if t == t_coupling:
                break
            time.sleep(PAUSE_S)
        state = features.state(record)
        # a number that is not measured now stays as it was
        before = np.zeros_like(state) if self._seen is None else self._seen
        self._seen = np.where(np.isfinite(state), state, before)
        action = features.action(record, coupling["error"], coupling["engagement"])
        ages = [record["sample_age"][0] * 1e-9, *coupling["age"]]
        aside = dict(zip(ASIDE, [t, *map(float, ages)], strict=True))
        names = features.action_names
        return Seen(self._seen, dict(zip(names, action.tolist(), strict=True)), aside)

    def _open(self) -> Client:
        try:
            return attach(self.name)
        except FarhandError as error:
            words = STARTS.get(self.name)
            try:
                if words is None:
                    logger.info("%s; waiting %g s", error, self.wait)
                    return attach(self.name, wait=self.wait)
                rig, *options = shlex.split(words.words)
                program = [words.program] if words.program else None
                return start(rig, *options, name=self.name, program=program)
            except FarhandError as again:
                raise DeviceNotConnectedError(str(again)) from None

    def _again(self, features: PolicyFeatures) -> None:
        """Attach to the successor of a session that has ended."""
        if self._client is not None:
            self._client.close()
        self._client = None
        if self.driving:
            raise DeviceNotConnectedError(
                f"session {self.name} has ended while a policy drove; start the policy again"
            )
        client = self.client()
        if self._describe(client) != features:
            raise DeviceNotConnectedError(
                f"session {self.name} has other arms than before; start LeRobot again"
            )

    @property
    def _coupling(self) -> str:
        """The stream of the coupling that leads this follower."""
        pairs = self.client().description.get("pairs", {})
        named = (stream for stream, names in pairs.items() if self.station in names)
        return next(named, "coupling")

    def _describe(self, client: Client) -> PolicyFeatures:
        signals = client.signals()
        if self.station not in signals or self._coupling not in signals:
            stations = ", ".join(name for name in signals if "coupling" not in name)
            raise DeviceNotConnectedError(
                f"session {self.name} has no coupled station {self.station}, but {stations}"
            )
        own = signals[self.station]
        _, record = client.record(self.station)
        labels = own["q"].labels or [f"joint_{k + 1}" for k in range(own["q"].size)]
        finite = frozenset(name for name in own if np.isfinite(record[name]).all())
        of_joints = signals[self._coupling]["error"].labels[:1] != ["x"]
        return PolicyFeatures(tuple(labels), finite, of_joints)
