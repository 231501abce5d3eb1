"""Gymnasium environments, one per rig: the agent is the hand, the bilateral loop runs inside.

The agent moves the hand that holds the leader; the coupling moves the follower; what the follower
touches comes back through the coupling as force at the hand, and is observed. The task is to bring
the follower's tool to a goal. The same seed and actions give the same observations to the bit::

    import gymnasium
    import farhand.gym

    env = gymnasium.make("farhand/dual-arm-v0")

``farhand/peg-v0`` and so on are the tasks of :mod:`farhand.tasks` for the same agent, and
:func:`expert` is somebody who can do them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from farhand.control.trajectory.paths import HandPath
from farhand.errors import BadValue, Mismatch
from farhand.loop.telemetry import Reader
from farhand.parameters import declared
from farhand.recording.export import component_units
from farhand.rigs import Options, Rig, build_rig, rig_names
from farhand.tasks import ARMS, TASKS, Operator, Trial, make_person, make_task
from farhand.tasks.operator import PERIOD_NS
from farhand.tasks.task import SITE
from farhand.world import ImpedanceHand

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise Mismatch("the environments need Gymnasium: pip install 'farhand[gym]'") from None

Array = np.ndarray

SPEED = 0.2
"""Fastest the agent may move the hand along one axis, [m/s]."""

REACH = 0.08
"""Furthest the goal is from the follower's tool at the start, along one axis, [m]."""

CLOSE = 0.005
"""Distance at which the goal is reached, [m]."""

BOUNDS = {"rad": 50.0, "rad/s": 100.0, "m": 20.0, "m/s": 50.0, "N": 2e3, "N·m": 500.0, "-": 1e3}
"""Largest observation of each unit; beyond it the observation is cut."""

OBSERVED = ("q", "v", "position_tool_in_world", "twist_tool_in_world", "wrench_measured_in_world")


class RigEnv(gymnasium.Env[dict[str, Array], Array]):
    """One rig as an environment.

    An observation is a dictionary: for either arm joint positions and velocities, tool position and
    twist, measured wrench, and ``measured`` (1 where there is a wrench; without one it reads zero);
    the error of the coupling; the goal. An action is the velocity of the hand, [m/s] ×3, world
    axes. The reward is the negative distance of the follower's tool to the goal, [m], per step. An
    episode ends when the goal is reached or a guard trips.

    Args:
        rig: which one.
        rate: steps of the agent per second, [Hz]; the loop inside keeps its own.
        seconds: length of an episode, [s].
        options: how the rig is built; its seed is that of the episode.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        rig: str = "dual-arm",
        rate: float = 50.0,
        seconds: float = 4.0,
        options: Options | None = None,
    ) -> None:
        if not 1.0 <= rate <= 500.0 or not 0.0 < seconds <= 3600.0:
            raise BadValue(
                f"rate = {rate:g} Hz and seconds = {seconds:g} must be in [1, 500] Hz, (0, 3600] s"
            )
        self._name, self._options, self._steps = rig, options or Options(), round(rate * seconds)
        self._dt = 1.0 / rate
        self.rig: Rig | None = None  #: the rig of this episode
        self._build(self._options.seed)
        #: of every number in the observation, by its name there; ``action`` is the action's
        self.units = {"goal": ["m"] * 3, "action": ["m/s"] * 3}
        observed: dict[str, spaces.Space[Any]] = {
            "goal": spaces.Box(-BOUNDS["m"], BOUNDS["m"], (3,), np.float64)
        }
        for name, unit, size in self._signals():
            self.units[name] = component_units(unit, size)
            high = np.array([BOUNDS[part] for part in self.units[name]])
            observed[name] = spaces.Box(-high, high, dtype=np.float64)
        for station in self._stations:
            observed[f"{station}.measured"] = spaces.Box(0.0, 1.0, (1,), np.float64)
            self.units[f"{station}.measured"] = ["-"]
        self.observation_space = self._spaces = spaces.Dict(observed)  # type: ignore[assignment]
        self.action_space = spaces.Box(-SPEED, SPEED, (3,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """A fresh rig, at rest and coupled, and a goal within reach."""
        super().reset(seed=seed)
        self._build(int(self.np_random.integers(2**31)))
        assert self.rig is not None
        self._count, self._drag, self._begun = 0, np.zeros(3), True
        self.rig.session.run(self._dt)
        self._goal = self._aim()
        return self._observe(), self._info()

    def step(self, action: Array) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        """Move the hand for one step of the agent while the loop inside runs at its own rate.

        Raises:
            BadValue: the action is not three finite numbers; faster ones than the space has are cut
                to it.
            Mismatch: there is no episode, before the first reset or after close.
        """
        if self.rig is None or not self._begun:
            raise Mismatch("there is no episode to step: call reset() first, also after close()")
        velocity = _finite(action, 3, "three finite numbers, [m/s]")
        moved = np.clip(velocity, -SPEED, SPEED) * self._dt
        self._count += 1
        self._drag = np.clip(self._drag + moved, *self._furthest)
        self.rig.session.commands.post("set", "hand.drag", self._drag.tolist())
        self.rig.session.run(self._dt)
        self.rig.metrics.pull()
        info = self._info()
        reward, done = self._judge(info)
        return self._observe(), reward, done, self._count >= self._steps, info

    def _aim(self) -> Array:
        """A goal within reach of the follower's tool, [m]."""
        start: Array = self._latest("follower")["position_tool_in_world"]
        return start + self.np_random.uniform(-REACH, REACH, 3)

    def _judge(self, info: dict[str, Any]) -> tuple[float, bool]:
        """Reward of a step, and whether the episode is over."""
        return -info["distance"], info["distance"] < CLOSE or bool(info["trips"])

    def close(self) -> None:
        """Give back what the rig holds."""
        self._begun = False
        if self.rig is not None:
            self.rig.close()
            self.rig = None

    def _build(self, seed: int) -> None:
        self.close()
        options = Options(**{**vars(self._options), "seed": seed})
        self.rig = build_rig(self._name, options)
        hand = self.rig.parts.hand
        if not isinstance(hand, ImpedanceHand):
            self.close()
            raise Mismatch(f"rig {self._name!r} has no hand that an agent could move")
        hand.path = HandPath()  # the agent moves it, not the scenario
        hand.refresh()
        range_of = declared(self.rig.session.parameters, "hand.drag")
        self._furthest = range_of["low"], range_of["high"]  # [m]
        self._reader = Reader(self.rig.session.telemetry.path)
        self._stations = [station.name for station in self.rig.session.stations]

    def _signals(self) -> list[tuple[str, str, int]]:
        """Name, unit and size of what is observed."""
        described = self._reader.header["streams"]
        found = [
            (f"{station}.{channel['name']}", channel["unit"], channel["size"])
            for station in self._stations
            for channel in described[station]["channels"]
            if channel["name"] in OBSERVED
        ]
        return [*found, ("coupling.error", "m, rad", 6)]

    def _latest(self, stream: str) -> dict[str, Array]:
        record = self._reader.latest(stream)
        assert record is not None
        return record[1]

    def _observe(self) -> dict[str, Array]:
        found = {
            "goal": self._goal.copy(),
            "coupling.error": self._latest("coupling")["error"].copy(),
        }
        for station in self._stations:
            latest = self._latest(station)
            found |= {f"{station}.{name}": latest[name].copy() for name in OBSERVED}
            known = np.isfinite(latest["wrench_measured_in_world"]).all()
            found[f"{station}.measured"] = np.array([float(known)])
        boxes: dict[str, Any] = self._spaces.spaces
        return {
            name: np.clip(np.nan_to_num(found[name]), box.low, box.high)
            for name, box in boxes.items()
        }

    def _info(self) -> dict[str, Any]:
        assert self.rig is not None
        distance = float(
            np.linalg.norm(self._latest("follower")["position_tool_in_world"] - self._goal)
        )
        force = self._latest("follower")["wrench_measured_in_world"][:3]
        return {
            "distance": distance,
            "contact_force": float(np.linalg.norm(np.nan_to_num(force))),
            "time": self.rig.session.now_ns * 1e-9,
            "trips": [record.trip.reason for record in self.rig.session.trips],
        }


class TaskEnv(RigEnv):
    """One task as an environment: the agent is the hand, and the task's referee judges.

    The observation is that of :class:`RigEnv` with the place of the mechanism that matters as goal.
    The reward of a step is −1/N in an episode of N steps, 1 more when the task is done, 1 less
    when something breaks or an arm stops.

    Args:
        task: which one.
        options: how the rig pair is built; two vx300s coupled tool to tool by default.
    """

    def __init__(self, task: str = "peg", options: Options | None = None) -> None:
        options = options or Options(law="position-position", settings=list(ARMS))
        options = replace(options, task=task, operator="none")
        self._closed = False
        super().__init__("pair", 1e9 / PERIOD_NS, make_task(task).seconds, options)
        #: whether the last number of an action closes the jaws (above 0) or opens them
        self.grasps = self.trial.task.jaws is not None
        if self.grasps:
            high = np.array([SPEED, SPEED, SPEED, 1.0])
            self.action_space = spaces.Box(-high, high, dtype=np.float64)
            self.units["action"] = ["m/s"] * 3 + ["-"]

    @property
    def trial(self) -> Trial:
        """The referee of this episode."""
        if self.rig is None or self.rig.trial is None:
            raise Mismatch("there is no episode: call reset() first")
        return self.rig.trial

    def step(self, action: Array) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        """Move the hand for one step of the agent, and the jaws in tasks that grasp."""
        if self.grasps and self.rig is not None:
            action = _finite(action, 4, "four finite numbers, [m/s] ×3 and the jaws")
            closed = bool(action[3] > 0.0)
            if closed != self._closed:
                self.rig.session.commands.post("set", "jaws.closed", closed)
            self._closed, action = closed, action[:3]
        return super().step(action)

    def _build(self, seed: int) -> None:
        super()._build(seed)
        self._closed = False

    def _aim(self) -> Array:
        points = np.zeros((self.trial.task.points, 3))
        self.trial.task.look(points)
        return points[SITE].copy()

    def _judge(self, info: dict[str, Any]) -> tuple[float, bool]:
        done = info["success"]
        failed = info["damaged"] or bool(info["trips"])
        return float(done) - float(failed) - 1.0 / self._steps, done or failed

    def _observe(self) -> dict[str, Array]:
        self._goal = self._aim()
        return super()._observe()

    def _info(self) -> dict[str, Any]:
        return {**super()._info(), **self.trial.result()}


def expert(
    env: gymnasium.Env[dict[str, Array], Array], name: str = "expert"
) -> Callable[[], Array]:
    """Somebody who does the task of an episode: call it for each action.

    It looks and feels as :class:`farhand.tasks.Operator` does, later and less exactly than the
    observation.

    Raises:
        Mismatch: the environment, whatever is wrapped around it, is not of a task.
    """
    inner = env.unwrapped
    if not isinstance(inner, TaskEnv):
        raise Mismatch("there are experts for tasks only, such as farhand/peg-v0")
    task, rig = inner.trial.task, inner.rig
    assert rig is not None
    hand = rig.parts.hand
    touches = [row for port in rig.world.ports.values() for row in port.touches]
    feel = next(wrench for _, touch, wrench in touches if touch is hand)
    shadow = ImpedanceHand()
    rng = np.random.default_rng(rig.options.seed)
    person = make_person(name, rng)

    def squeeze(closed: bool) -> None:
        jaws[0] = 1.0 if closed else -1.0

    operator = Operator(
        person, shadow, task.look, task.points, feel, task.plan, rng, squeeze=squeeze
    )
    at, jaws = np.zeros(3), [-1.0]

    def act() -> Array:
        operator.step(rig.session.now_ns)
        shadow.path.at((rig.session.now_ns + PERIOD_NS) * 1e-9)
        velocity = np.clip((shadow.path.translation - at) / (PERIOD_NS * 1e-9), -SPEED, SPEED)
        at[:] += velocity * (PERIOD_NS * 1e-9)
        return np.concatenate([velocity, jaws]) if inner.grasps else velocity

    return act


def _finite(action: Array, count: int, what: str) -> Array:
    """An action as an array; BadValue unless it is ``count`` finite numbers."""
    try:
        asked = np.asarray(action, dtype=float)
    except (TypeError, ValueError):
        raise BadValue(f"action {action!r} is not {what}") from None
    if asked.shape != (count,) or not np.isfinite(asked).all():
        raise BadValue(f"action {action!r} is not {what}")
    return asked


def register() -> None:
    """Make every rig and task known to Gymnasium, ``farhand/NAME-v0``, when this is imported."""
    for name in rig_names():
        gymnasium.register(
            id=f"farhand/{name}-v0", entry_point="farhand.gym:RigEnv", kwargs={"rig": name}
        )
    for name in TASKS:
        gymnasium.register(
            id=f"farhand/{name}-v0", entry_point="farhand.gym:TaskEnv", kwargs={"task": name}
        )


register()
