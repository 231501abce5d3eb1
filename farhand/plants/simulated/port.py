"""Simulated plant: a robot of the World with switchable imperfections."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from farhand.compiled import bind
from farhand.errors import UnknownName
from farhand.friction import FRICTIONS, make
from farhand.friction.models.model import read_parameters
from farhand.kernels import join, scaled_square
from farhand.parameters import parameter
from farhand.plants.plant import Brake, Command, JointTorque, Plant, Sample
from farhand.plants.simulated.grippers import GripperDrive
from farhand.plants.wrappers.wrapped import FAULTS, inject_fault
from farhand.robots import Robot, q_from_pinocchio, q_to_pinocchio, v_from_pinocchio, v_to_pinocchio
from farhand.spatial import Array
from farhand.world.joints import JointFriction
from farhand.world.world import World

NO_NOISE = np.zeros(6)


@dataclass
class Imperfections:
    """Errors of a simulated plant, each its own switch; zero (or off) is perfect."""

    encoder_step: float = parameter(0.0, "rad", "encoder step", 0.0, 0.1)
    velocity_from_position: float = parameter(
        0.0, "Hz", "cut-off of velocity made from positions; 0: true velocity", 0.0, 1e4
    )
    actuator_lag: float = parameter(0.0, "s", "time constant of the actuators", 0.0, 1.0)
    actuator_limit: float = parameter(1.0, "-", "fraction of the torque limits; 0: none", 0.0, 10.0)
    torque_offset: float = parameter(
        0.0, "N·m", "constant error of every joint torque", -50.0, 50.0
    )
    force_noise: float = parameter(0.0, "N", "standard deviation of measured force", 0.0, 50.0)
    torque_noise: float = parameter(0.0, "N·m", "standard deviation of measured torque", 0.0, 10.0)
    friction: str = parameter(
        "none", "-", "friction model of the joints", choices=("none", *sorted(FRICTIONS))
    )
    friction_parameters: str = parameter("", "-", "its parameters, as coulomb=0.5;viscous=0.1")
    sensor_delay: int = parameter(0, "-", "age of samples in reads", 0, 1000)
    wrench_sensor: bool = parameter(True, "-", "whether the tool has a wrench sensor")
    fault: str = parameter(
        "none", "-", "what goes wrong with the samples", choices=("none", *FAULTS)
    )
    fault_start: float = parameter(0.0, "s", "when the fault begins", 0.0, 1e6)
    fault_length: float = parameter(1e6, "s", "how long the fault lasts", 0.0, 1e6)

    def __post_init__(self) -> None:
        """Prepare the derived numbers."""
        self.refresh()

    def refresh(self) -> None:
        """Stack the standard deviations of the wrench, and check the friction model."""
        self.wrench_sigma = np.repeat([self.force_noise, self.torque_noise], 3)
        values = read_parameters(self.friction_parameters)
        self.joint_friction = (self.friction, values) if self.friction != "none" else None
        #: whether motion and wrench are measured without any error, and torques given as commanded
        self.exact_motion = not (self.encoder_step or self.velocity_from_position)
        self.exact_wrench = not (self.force_noise or self.torque_noise)
        self.on_time = self.fault == "none" and not self.sensor_delay
        #: whether samples are the true motion, and at most the wrench has noise
        self.simple = self.exact_motion and self.on_time
        self.exact_torque = not (self.actuator_lag or self.torque_offset)
        if self.joint_friction:
            joints = max([np.size(value) for value in values.values()], default=1)
            make(self.friction, joints, **values)


class SimulatedPlant(Plant):
    """A robot of the World as a plant; it converts between MuJoCo's and Pinocchio's conventions.

    Args:
        world: the world the robot stands in.
        name: the robot's name there.
        imperfections: its errors.
        rng: source of the sensor noise.
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque, Brake})

    def __init__(
        self,
        world: World,
        name: str,
        imperfections: Imperfections | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        if name not in world.placed:
            raise UnknownName("robot of this world", name, world.placed)
        robot: Robot = world.placed[name].robot
        self.name, self.world, self.port = name, world, world.ports[name]
        self.imperfections: Imperfections = imperfections or Imperfections()
        self.actuated = robot.actuated
        #: each joint's encoder step over that of the imperfections, [-]
        self.encoder_scale: Array | float = 1.0
        self.gripper: GripperDrive | None = None  #: at its tool, or None
        self.zero: Array | None = None  #: offset of its encoders, one per coordinate, or None
        self.period_ns = world.step_ns
        self._model = robot.compile()
        self._plain = self._model.nq == self._model.nv
        self._all_actuated = bool(robot.actuated.all())
        self._limit = robot.limits.torque
        # sum of the squares of torques over their limits
        inverse = 1.0 / robot.limits.torque
        self._load = bind(scaled_square, inverse, then=(inverse,))
        self._rng = rng or np.random.default_rng(0)
        self._sample = Sample(self._model.nq, self._model.nv)
        port, values = self.port, self._sample.values
        self._join = bind(join, port.q, port.v, port.wrench, values, then=(NO_NOISE,))
        self._frozen: Sample | None = None
        self._past: deque[Sample] = deque()
        self._position_before: tuple[int, Array] | None = None
        self._velocity = np.zeros(self._model.nv)
        self._noise: list[Array] = []
        self._sigma: Array | None = None
        self._lagged = np.zeros(self._model.nv)
        self._friction: tuple[str, dict[str, Array]] | None = None
        self._read_ns = -1
        self._written_ns = 0

    @property
    def wrench_sigma(self) -> Array:  # type: ignore[override]
        """Standard deviation of the wrench sensor, [N] ×3 and [N·m] ×3."""
        return self.imperfections.wrench_sigma

    @property
    def unstable(self) -> str:
        """Why the simulation has diverged; empty while it has not."""
        return self.world.unstable

    @property
    def parameters(self) -> dict[str, Any]:
        """What a user may set of it."""
        return {"plant": self.imperfections}

    def read(self, now_ns: int) -> Sample:
        """The latest sample, with the imperfections that are switched on."""
        self.world.advance(now_ns)
        if self.world.now_ns == self._read_ns:
            return self._frozen or (self._past[0] if self._past else self._sample)
        sample, port, faults = self._sample, self.port, self.imperfections
        sample.time_ns = self._read_ns = self.world.now_ns
        if self._plain and self.zero is None and faults.simple and faults.wrench_sensor:
            noise = NO_NOISE if faults.exact_wrench else self._next_noise(faults.wrench_sigma)
            self._join(noise)
            sample.has_wrench = True
            return sample
        if self._plain:
            sample.q[:] = port.q
            sample.v[:] = port.v
        else:
            sample.q[:] = q_to_pinocchio(self._model, port.q)
            sample.v[:] = v_to_pinocchio(self._model, port.q, port.v)
        if self.zero is not None:
            sample.q += self.zero
        sample.set_wrench(port.wrench if faults.wrench_sensor else None)
        if not faults.exact_motion:
            self._degrade_motion(sample)
        if not faults.exact_wrench:
            self._degrade_wrench(sample)
        return sample if faults.on_time else self._spoilt(sample)

    def write(self, command: Command, now_ns: int) -> None:
        """Set the joint torques from now on; any command but :class:`Brake` opens the brakes."""
        port, faults = self.port, self.imperfections
        if port.braking or isinstance(command, Brake):
            port.brake(isinstance(command, Brake))
        if faults.joint_friction is not self._friction:
            self._change_friction()
        torque = port.torque
        torque[:] = command.value if self._plain else self._in_engine_axes(command.value)
        if not faults.exact_torque:
            self._degrade_torque(torque, now_ns)
        self._written_ns = now_ns
        if not self._all_actuated:
            torque *= self.actuated
        if faults.actuator_limit:
            self._saturate(torque, faults.actuator_limit)

    def _saturate(self, torque: Array, fraction: float) -> None:
        # a norm below the limit needs no test per joint
        if self._load(torque) > fraction * fraction:
            limit = fraction * self._limit
            np.clip(torque, -limit, limit, out=torque)

    def _in_engine_axes(self, torque: Array) -> Array:
        """Joint torque in MuJoCo's order."""
        return v_from_pinocchio(self._model, self.port.q, torque)

    def _degrade_torque(self, torque: Array, now_ns: int) -> None:
        """What the actuators make of a torque, in place."""
        faults = self.imperfections
        if faults.actuator_lag:
            share = 1.0 - np.exp(-(now_ns - self._written_ns) * 1e-9 / faults.actuator_lag)
            self._lagged += share * (torque - self._lagged)
            torque[:] = self._lagged
        torque += faults.torque_offset

    def _change_friction(self) -> None:
        """Give the joints the friction that is set now."""
        self._friction = self.imperfections.joint_friction
        name, values = self._friction or ("viscous", {"viscous": np.zeros(1)})
        friction = make(name, self._model.nv, **values)
        self.world.add_friction(self.name, JointFriction(friction, self.world, self.name))

    def _spoilt(self, sample: Sample) -> Sample:
        """The sample with the fault while it lasts, or a late one.

        A frozen plant repeats its last good sample.
        """
        faults = self.imperfections
        if faults.fault == "none":
            return self._delayed(sample)
        if not 0.0 <= sample.time_ns * 1e-9 - faults.fault_start < faults.fault_length:
            self._frozen = None
            return sample
        if faults.fault == "frozen":
            self._frozen = self._frozen or sample.copy()
            return self._frozen
        inject_fault(sample, faults.fault)
        return sample

    def _degrade_motion(self, sample: Sample) -> None:
        faults = self.imperfections
        if faults.encoder_step:
            step = faults.encoder_step * self.encoder_scale
            sample.q[:] = np.round(sample.q / step) * step
        if not faults.velocity_from_position:
            return
        if self._position_before is not None:
            before_ns, before = self._position_before
            dt = (sample.time_ns - before_ns) * 1e-9
            share = 1.0 - np.exp(-2.0 * np.pi * faults.velocity_from_position * dt)
            self._velocity += share * (self._difference(before, sample.q, dt) - self._velocity)
        self._position_before = (sample.time_ns, sample.q.copy())
        sample.v[:] = self._velocity

    def _difference(self, before: Array, after: Array, dt: float) -> Array:
        """Velocity that leads from one configuration to another in ``dt`` [s]."""
        if self._plain:
            velocity: Array = (after - before) / dt
            return velocity
        qpos = [q_from_pinocchio(self._model, q) for q in (before, after)]
        velocity = np.zeros(self._model.nv)
        mujoco.mj_differentiatePos(self._model, velocity, dt, *qpos)
        return v_to_pinocchio(self._model, qpos[1], velocity)

    def _degrade_wrench(self, sample: Sample) -> None:
        noise = self._next_noise(self.imperfections.wrench_sigma)
        wrench = sample.wrench
        if wrench is not None:
            wrench += noise

    def _next_noise(self, sigma: Array) -> Array:
        """Noise of one reading; drawn in blocks, one call for many ticks."""
        if not self._noise or sigma is not self._sigma:
            self._sigma = sigma
            self._noise = list(self._rng.standard_normal((512, 6)) * sigma)
        return self._noise.pop()

    def _delayed(self, sample: Sample) -> Sample:
        """The sample of ``sensor_delay`` reads ago (the oldest there is, at the start)."""
        self._past.append(sample.copy())
        while len(self._past) > self.imperfections.sensor_delay + 1:
            self._past.popleft()
        return self._past[0]
