"""World: several robots in one MuJoCo model, with whatever touches their tools, in exact steps of virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import mujoco
import numpy as np

from farhand.errors import BadValue, UnknownName
from farhand.robots import Placement, Robot
from farhand.world.pushes import JointPush
from farhand.world.touch import Tie, Tool, Touch

Array = np.ndarray


BRAKE = 0.3
"""Torque of a joint's brake as a share of its torque limit; assumed, with a limit of 100 N·m where none is known."""


@dataclass(frozen=True)
class Placed:
    """A robot standing somewhere in the world.

    Attributes:
        robot: which robot.
        placement: where its base stands.
        q: initial configuration in MuJoCo's order, [rad] or [m]; its home by default.
    """

    robot: Robot
    placement: Placement = field(default_factory=Placement)
    q: Array | None = None


class Port:
    """The world's side of one robot: its state, its joint torques, and what touches its tool. Arrays are live views.

    Attributes:
        q: configuration in MuJoCo's order, [rad] or [m].
        v: velocity in MuJoCo's order, [rad/s] or [m/s].
        torque: joint torque that acts during the next step, [N·m]; write it.
        tool: state of the tool.
        wrench: total of all touches on the tool, world axes at the tool point, [N], [N·m].
        push: what pushes on its links, or None.
        braking: whether the joints' brakes are closed.
        work: energy given to the robot so far by ``actuator``, ``damping``, ``constraint`` (joint limits, dry
            friction), ``push`` and each touch by name, [J].
    """

    def __init__(
        self, model: mujoco.MjModel, data: mujoco.MjData, tool: str, q_slice: slice, v_slice: slice, brake: Array
    ) -> None:
        self.v_slice = v_slice
        self.q, self.v = data.qpos[q_slice], data.qvel[v_slice]
        self.nv = len(self.v)
        self.torque, self.applied = np.zeros(self.nv), data.qfrc_applied[v_slice]
        self.constraint = data.qfrc_constraint[v_slice]
        self.site = model.site(tool).id
        self.tool = Tool(data.site_xpos[self.site], data.site_xmat[self.site].reshape(3, 3), np.zeros(6))
        self.jacobian_world = np.zeros((6, model.nv))
        self.J = self.jacobian_world[:, v_slice]
        self.wrench = np.zeros(6)
        self.touches: list[tuple[str, Touch | None, Array]] = []
        self.push: JointPush | None = None
        self.work: dict[str, float] = {"actuator": 0.0, "damping": 0.0, "constraint": 0.0}
        self._damping = model.dof_damping[v_slice]
        self.braking = False
        self._friction, self._brake = model.dof_frictionloss[v_slice], brake
        self._friction_free = self._friction.copy()
        self._v_before = np.zeros(self.nv)
        self._travelled, self._drag, self._twist = np.zeros(self.nv), np.zeros(self.nv), np.zeros(6)

    def brake(self, on: bool) -> None:
        """Close or open the joints' brakes: dry friction on top of what the joints have."""
        if on != self.braking:
            self.braking = on
            self._friction[:] = self._friction_free + (self._brake if on else 0.0)

    def apply(self) -> None:
        """Hand the actuators' torques and those of all touches to the engine."""
        self._v_before[:] = self.v
        self.wrench.dot(self.J, self.applied)
        self.applied += self.torque
        if self.push is not None:
            self.applied += self.push.now

    def account(self, h: float, constrained: bool) -> None:
        """Add the work of the step just made: torque times mean velocity, exact for constant inertia."""
        travelled, work = self._travelled, self.work
        np.add(self._v_before, self.v, out=travelled)
        travelled *= 0.5 * h
        self.J.dot(travelled, out=self._twist)
        work["actuator"] += float(self.torque.dot(travelled))
        np.multiply(self._damping, self.v, out=self._drag)  # the engine takes damping at the step's end
        work["damping"] -= float(self._drag.dot(travelled))
        if constrained:
            work["constraint"] += float(self.constraint.dot(travelled))
        if self.push is not None:
            work["push"] += float(self.push.now.dot(travelled))
        for name, _, wrench in self.touches:
            work[name] += float(wrench.dot(self._twist))

    def sense(self, t: float, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Jacobian, tool twist and what every touch and push does at the present state."""
        mujoco.mj_jacSite(model, data, self.jacobian_world[:3], self.jacobian_world[3:], self.site)
        self.J.dot(self.v, out=self.tool.twist)
        if self.push is not None:
            self.push.at(t)
        for _, touch, wrench in self.touches:
            if touch is not None:
                touch.push(self.tool, t, wrench)

    def total(self) -> None:
        """Sum the touches."""
        if len(self.touches) == 1:
            self.wrench[:] = self.touches[0][2]
            return
        self.wrench[:] = 0.0
        for _, _, wrench in self.touches:
            self.wrench += wrench


class World:
    """One MuJoCo model assembled from robots, and the hands, walls and springs around them.

    The state, tool poses and wrenches that a plant reads at time t all belong to t: :meth:`advance` integrates with
    the forces of the step's start, then evaluates kinematics and touches anew at its end.

    Args:
        placed: the robots by name; names become prefixes in the model.
        step_ns: length of one physics step, [ns].
        gravity: downward acceleration, [m/s²].
    """

    def __init__(self, placed: Mapping[str, Placed], step_ns: int = 1_000_000, gravity: float = 9.81) -> None:
        self.placed = dict(placed)
        self.step_ns = step_ns
        self.now_ns = 0
        self.model = _compose(self.placed, step_ns * 1e-9, gravity)
        self.data = mujoco.MjData(self.model)
        self.ports = self._make_ports()
        self._ports = tuple(self.ports.values())
        self._h = step_ns * 1e-9
        self._ties: list[tuple[Tie, Port, Port, Array, Array]] = []
        for name, item in self.placed.items():
            self.ports[name].q[:] = item.robot.home if item.q is None else item.q
        self._sense()
        self._initial_energy = self.mechanical_energy()

    def touch(self, robot: str, name: str, touch: Touch) -> None:
        """Let ``touch`` (a hand, a wall, a spring to ground) act on the tool of ``robot`` under the given name."""
        port = self._port(robot)
        _refuse_taken(port, name)
        port.touches.append((name, touch, np.zeros(6)))
        port.work[name] = 0.0
        self._sense()

    def push(self, robot: str, push: JointPush) -> None:
        """Let ``push`` act on the joints of ``robot``, beside its actuators."""
        port = self._port(robot)
        port.push = push
        port.work["push"] = 0.0

    def tie(self, a: str, b: str, name: str, tie: Tie) -> None:
        """Let ``tie`` act between the tools of robots ``a`` and ``b``."""
        port_a, port_b = self._port(a), self._port(b)
        wrenches = np.zeros(6), np.zeros(6)
        for port, wrench in zip((port_a, port_b), wrenches, strict=True):
            _refuse_taken(port, name)
            port.touches.append((name, None, wrench))
            port.work[name] = 0.0
        self._ties.append((tie, port_a, port_b, *wrenches))
        self._sense()

    def advance(self, to_ns: int) -> None:
        """Step until ``to_ns``; steps are whole, so the world may stay up to one step behind."""
        while self.now_ns + self.step_ns <= to_ns:
            self._step()

    def mechanical_energy(self) -> float:
        """Kinetic plus gravitational energy of all robots, [J]."""
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        return float(self.data.energy.sum())

    def energy_residual(self) -> float:
        """Mechanical energy gained minus all work done on the robots: zero but for integration error, [J]."""
        given = sum(sum(port.work.values()) for port in self.ports.values())
        return self.mechanical_energy() - self._initial_energy - given

    def energy_exchanged(self) -> float:
        """Sum of the absolute works on all robots, the scale against which the residual is judged, [J]."""
        return sum(abs(work) for port in self.ports.values() for work in port.work.values())

    def _make_ports(self) -> dict[str, Port]:
        """Robots lie in qpos and qvel one after the other, in the order they were attached."""
        ports, q, v = {}, 0, 0
        for name, item in self.placed.items():
            alone = item.robot.compile()
            q_slice, v_slice = slice(q, q + alone.nq), slice(v, v + alone.nv)
            limit = item.robot.limits.torque
            brake = BRAKE * np.where(np.isfinite(limit), limit, 100.0)
            ports[name] = Port(self.model, self.data, f"{name}/{item.robot.tool}", q_slice, v_slice, brake)
            q, v = q_slice.stop, v_slice.stop
        return ports

    def _port(self, robot: str) -> Port:
        if robot not in self.ports:
            raise UnknownName("robot in this world", robot, self.ports)
        return self.ports[robot]

    def _step(self) -> None:
        ports = self._ports
        for port in ports:
            port.apply()
        mujoco.mj_step2(self.model, self.data)
        self.now_ns += self.step_ns
        constrained = self.data.nefc > 0
        for port in ports:
            port.account(self._h, constrained)
        self._sense()

    def _sense(self) -> None:
        mujoco.mj_step1(self.model, self.data)
        t = self.now_ns * 1e-9
        for port in self._ports:
            port.sense(t, self.model, self.data)
        for tie, a, b, wrench_a, wrench_b in self._ties:
            tie.push(a.tool, b.tool, t, wrench_a, wrench_b)
        for port in self._ports:
            port.total()


def _refuse_taken(port: Port, name: str) -> None:
    if name in port.work:
        raise BadValue(f"the name {name!r} is taken in the robot's energy account, beside {', '.join(port.work)}")


def _compose(placed: Mapping[str, Placed], step: float, gravity: float) -> mujoco.MjModel:
    """One model with every robot attached at its placement, prefixed by its name."""
    if not placed:
        raise BadValue("a world needs at least one robot")
    spec = mujoco.MjSpec()
    spec.copy_during_attach = True
    spec.option.timestep = step
    spec.option.gravity = [0.0, 0.0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_AUTORESET  # a diverged state must be seen, not reset
    for name, item in placed.items():
        x, y, z, w = item.placement.quaternion
        frame = spec.worldbody.add_frame(pos=list(item.placement.position), quat=[w, x, y, z])
        spec.attach(item.robot.spec(), prefix=f"{name}/", frame=frame)
    return spec.compile()
