"""World: several robots in one MuJoCo model, with what touches their tools, in exact steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np

from farhand.compiled import bind
from farhand.errors import BadValue, UnknownName
from farhand.robots import Placement, Robot
from farhand.robots.springs import JointSpring
from farhand.spatial import Array
from farhand.world.contacts import ToolContact
from farhand.world.joints import GearFriction, JointFriction, Pushes
from farhand.world.kernels import tool_motion
from farhand.world.ledger import Ledger
from farhand.world.objects import Jaws
from farhand.world.touches import Tie, Tool, Touch

BRAKE_SHARE, UNKNOWN_LIMIT = 0.3, 100.0
"""Torque of a joint's brake per torque limit, and the limit [N·m] if none is known; assumed."""

SHOWN_NS = 10_000_000
"""How often a world of machines alone is looked at, [ns]."""

FRICTION_HARDNESS = 100.0
"""Ratio of the engine's friction to its normal contact; high, so that held objects hardly creep."""


@dataclass(frozen=True)
class Placed:
    """A robot standing somewhere in the world."""

    robot: Robot
    placement: Placement = field(default_factory=Placement)
    #: initial configuration in MuJoCo's order, [rad] or [m]; its home by default
    q: Array | None = None


class Port:
    """The world's side of one robot: state, joint torques and touches. Arrays are live views.

    Attributes:
        q: configuration in MuJoCo's order, [rad] or [m].
        v: velocity in MuJoCo's order, [rad/s] or [m/s].
        torque: joint torque that acts during the next step, [N·m]; write it.
        J: Jacobian of the tool, 6 × nv.
        site: number of the tool's site in the model.
        tool: state of the tool.
        wrench: total of all touches on the tool, world axes at the tool point, [N], [N·m].
        contact: the part of it from the engine's own contacts; None if it feels none.
        touches: name, touch (None for a tie to another tool) and wrench of each.
        push: what pushes on its links, or None.
        springs: passive springs at its joints, by number; they count as pushes.
        friction: resistance of its joints beyond MuJoCo's own, or None.
        braking: whether the joints' brakes are closed.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        place: RobotSlices,
        ledger: Ledger,
        brake: Array,
    ) -> None:
        rows, v_slice = place.rows, place.v
        self.q: Array = data.qpos[place.q]
        self.v: Array = data.qvel[v_slice]
        self.nv = len(self.v)
        self.torque, self.pushed = ledger.torque[v_slice], ledger.push[v_slice]
        self.wrench, self._jacobian = ledger.wrench[rows], ledger.J[rows]
        self.J = self._jacobian[:, v_slice]
        self._linear, self._angular = self._jacobian[:3], self._jacobian[3:]
        self.site = model.site(place.tool).id
        self.tool = Tool(
            data.site_xpos[self.site], data.site_xmat[self.site].reshape(3, 3), ledger.twist[rows]
        )
        self.touches: list[tuple[str, Touch | None, Array]] = []
        self.push: Pushes | None = None
        self.springs: dict[int, JointSpring] = {}
        self.friction: GearFriction | JointFriction | None = None
        self.braking = False
        self.contact: Array | None = None
        self._friction, self._brake = model.dof_frictionloss[v_slice], brake
        self._friction_free = self._friction.copy()
        self._number, self._ledger = place.number, ledger
        self.accounts: dict[str, int] = {}

    @property
    def work(self) -> dict[str, float]:
        """Energy given to the robot so far, [J].

        By ``actuator``, ``damping``, ``constraint`` (joint limits, dry friction), ``push`` if
        something pushes on its links or joints, and each touch by name.
        """
        joints = self._ledger.joint_work(self._number)
        work = dict(zip(("actuator", "damping", "constraint", "push"), joints, strict=True))
        if not self.pushes:
            del work["push"]
        touch_work = self._ledger.touch_work
        return work | {name: touch_work(number) for name, number in self.accounts.items()}

    def brake(self, on: bool) -> None:
        """Close or open the joints' brakes: dry friction on top of what the joints have."""
        if on != self.braking:
            self.braking = on
            self._set_friction()

    def remove_dry_friction(self) -> None:
        """Let the joints move without their dry friction; brakes still hold them."""
        self._friction_free[:] = 0.0
        self._set_friction()

    def _set_friction(self) -> None:
        free = self._friction_free
        self._friction[:] = free + self._brake if self.braking else free

    def update_jacobian(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Compute the tool's Jacobian at the present state."""
        mujoco.mj_jacSite(model, data, self._linear, self._angular, self.site)

    @property
    def pushes(self) -> bool:
        """Whether anything but its motors acts on its joints."""
        return self.push is not None or self.friction is not None or bool(self.springs)

    def update_pushes(self, t: float) -> None:
        """Compute what acts on the joints: pushes, springs, friction that depends on speed."""
        self.pushed[:] = 0.0
        if self.push is not None:
            self.push.at(t)
            self.pushed += self.push.now
        for joint, spring in self.springs.items():
            self.pushed[joint] -= spring.torque(float(self.q[joint]))
        if self.friction is not None:
            self.friction.at(self.v, self._friction_free, self.pushed)
            self._set_friction()


@dataclass(frozen=True)
class RobotSlices:
    """Where a robot is in the arrays of the whole world."""

    number: int
    tool: str
    q: slice
    v: slice

    @property
    def rows(self) -> slice:
        """Its six rows in the arrays of all tools."""
        return slice(6 * self.number, 6 * self.number + 6)


class World:
    """One MuJoCo model assembled from robots, and the hands, walls and springs around them.

    The state, tool poses and wrenches that a plant reads at time t all belong to t: :meth:`advance`
    integrates with the forces of the step's start, then evaluates kinematics and touches at its
    end.

    Args:
        placed: the robots by name; names become prefixes in the model.
        step_ns: length of one physics step, [ns].
        gravity: downward acceleration, [m/s²].
    """

    def __init__(
        self, placed: Mapping[str, Placed], step_ns: int = 1_000_000, gravity: float = 9.81
    ) -> None:
        self.placed = dict(placed)
        self.step_ns = step_ns
        self.now_ns = 0
        #: whether something outside moves a robot of this world, which makes the energy account
        #: meaningless
        self.externally_driven = False
        self.mirrored: set[str] = set()  #: robots that machines elsewhere stand for
        #: why the simulation diverged; it stands still from then on. Empty before.
        self.unstable = ""
        self.model = _compose(self.placed, step_ns * 1e-9, gravity)
        self.data = mujoco.MjData(self.model)
        self.ports = self._make_ports()
        self._ports = tuple(self.ports.values())
        data, ledger = self.data, self._ledger
        moves = _joints_that_move(self.model, [port.site for port in self._ports])
        # finds the motion of all tools; None where the engine does
        self._motion = (
            None
            if moves is None
            else bind(
                tool_motion, data.xanchor, data.xaxis, data.site_xpos, data.qvel, moves, ledger.live
            )
        )
        self._q, self._v, self._last = data.qpos, data.qvel, data.qpos.copy()
        # what is called in every step, in this order: joints, then touches
        self._pushing: list[Port] = []
        self._touching: list[tuple[Touch, Tool, Array]] = []
        self._ties: list[tuple[str, Tie, Port, Port, Array, Array]] = []
        self._owners: list[int] = []
        self._contacts: list[tuple[Jaws | ToolContact, Port, Array]] = []
        for name, item in self.placed.items():
            start, q = self.ports[name].q, item.robot.home if item.q is None else item.q
            if np.shape(q) != start.shape:
                raise BadValue(f"{name} starts with {len(start)} joint positions, not {np.size(q)}")
            start[:] = q
        self._find_touches()
        self._initial_energy = self.mechanical_energy()

    def touch(self, robot: str, name: str, touch: Touch) -> None:
        """Let a hand, wall or spring to ground act on the tool of ``robot`` under this name."""
        port = self._port(robot)
        _check_name(port, name)
        port.touches.append((name, touch, np.zeros(6)))
        self._open_accounts([(port, name)])

    def push(self, robot: str, push: Pushes) -> None:
        """Let ``push`` act on the joints of ``robot``, beside its actuators."""
        self._port(robot).push = push
        self._find_touches()

    def add_friction(self, robot: str, friction: GearFriction | JointFriction) -> None:
        """Let ``friction`` resist the joints of ``robot``."""
        friction.join(self.model, robot)
        self._port(robot).friction = friction
        # twice: the step's constraints include it only after the first
        self._find_touches()
        self._sense()

    def tie(self, a: str, b: str, name: str, tie: Tie) -> None:
        """Let ``tie`` act between the tools of robots ``a`` and ``b``."""
        ports = self._port(a), self._port(b)
        for port in ports:
            _check_name(port, name)
        for port in ports:
            port.touches.append((name, None, np.zeros(6)))
        self._ties.append((name, tie, *ports, np.zeros(6), np.zeros(6)))
        self._open_accounts([(port, name) for port in ports])

    def grasp(self, robot: str, thing: str, jaws: Jaws) -> None:
        """Let the closed pads of ``robot`` hold ``thing`` by the engine's own contact."""
        port, _ = self._port(robot), self._port(thing)
        jaws.join(self.model, robot, thing)
        self._feel(port, jaws)

    def feel(self, robot: str, contact: ToolContact) -> None:
        """Let the tool of ``robot`` feel the engine's own contact on some of its geoms."""
        port = self._port(robot)
        contact.join(self.model, robot)
        self._feel(port, contact)

    def _feel(self, port: Port, contact: Jaws | ToolContact) -> None:
        self.model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        port.contact = self._ledger.contact[6 * self._ports.index(port) :][:6]
        self._contacts.append((contact, port, port.contact))
        self.model.opt.cone, self.model.opt.impratio = (
            mujoco.mjtCone.mjCONE_ELLIPTIC,
            FRICTION_HARDNESS,
        )
        self._sense()

    @property
    def only_shows(self) -> bool:
        """Whether machines elsewhere stand for all its robots, so that nothing is simulated."""
        return len(self.mirrored) == len(self.ports)

    def advance(self, to_ns: int) -> None:
        """Step until ``to_ns``; steps are whole, so the world may stay up to one step behind."""
        if to_ns - self.now_ns < self.step_ns:
            return
        if self.only_shows:
            self._follow(to_ns)
            return
        while self.now_ns + self.step_ns <= to_ns:
            if self.unstable:
                self.now_ns += self.step_ns
            else:
                self._step()

    def _follow(self, to_ns: int) -> None:
        """Only show where machines are, often enough for the eye: nothing here moves them."""
        before = self.now_ns // SHOWN_NS
        self.now_ns += (to_ns - self.now_ns) // self.step_ns * self.step_ns
        if self.now_ns // SHOWN_NS != before:
            self._sense()

    def mechanical_energy(self) -> float:
        """Kinetic plus gravitational energy of all robots, [J]."""
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        return float(self.data.energy.sum())

    def energy_residual(self) -> float:
        """Mechanical energy gained minus all work on the robots: the integration error, [J]."""
        work = sum(sum(port.work.values()) for port in self.ports.values())
        return self.mechanical_energy() - self._initial_energy - work

    def energy_exchanged(self) -> float:
        """Sum of the absolute works on all robots, as a scale for the residual, [J]."""
        return sum(abs(work) for port in self.ports.values() for work in port.work.values())

    def _make_ports(self) -> dict[str, Port]:
        """Robots lie in qpos and qvel one after the other, in the order they were attached."""
        places, q, v = [], 0, 0
        for number, (name, item) in enumerate(self.placed.items()):
            alone, tool = item.robot.compile(), f"{name}/{item.robot.tool}"
            places.append(RobotSlices(number, tool, slice(q, q + alone.nq), slice(v, v + alone.nv)))
            q, v = q + alone.nq, v + alone.nv
        self._ledger = Ledger([place.v for place in places], self.model, self.data)
        ports = {}
        for place, (name, item) in zip(places, self.placed.items(), strict=True):
            limit = item.robot.limits.torque
            brake = BRAKE_SHARE * np.where(np.isfinite(limit), limit, UNKNOWN_LIMIT)
            ports[name] = Port(self.model, self.data, place, self._ledger, brake)
            ports[name].springs = dict(item.robot.springs)
        return ports

    def refresh(self) -> None:
        """Evaluate the touches again, after one of them was changed."""
        self._sense()

    def _open_accounts(self, opened: Sequence[tuple[Port, str]]) -> None:
        """Open an energy account for each new touch; touches then write into the ledger's rows."""
        for port, name in opened:
            port.accounts[name] = len(self._owners)
            self._owners.append(self._ports.index(port))
        rows = self._ledger.touches(self._owners)
        for port in self._ports:
            numbers = port.accounts
            port.touches = [(name, touch, rows[numbers[name]]) for name, touch, _ in port.touches]
        self._ties = [
            (name, tie, a, b, rows[a.accounts[name]], rows[b.accounts[name]])
            for name, tie, a, b, *_ in self._ties
        ]
        self._find_touches()

    def _find_touches(self) -> None:
        """List all that acts on joints and tools, and evaluate it."""
        self._pushing = [port for port in self._ports if port.pushes]
        self._touching = [
            (touch, port.tool, wrench)
            for port in self._ports
            for _, touch, wrench in port.touches
            if touch is not None
        ]
        self._sense()

    def _port(self, robot: str) -> Port:
        if robot not in self.ports:
            raise UnknownName("robot in this world", robot, self.ports)
        return self.ports[robot]

    def _step(self) -> None:
        self._ledger.begin()
        self._last[:] = self._q
        mujoco.mj_step2(self.model, self.data)
        if not self._ledger.end():
            self._stand_still()
            return
        for contact, port, wrench in self._contacts:
            contact.feel(self.data, port.tool.position, wrench)
            contact.step(self.step_ns * 1e-9)
        self.now_ns += self.step_ns
        self._sense()

    def _stand_still(self) -> None:
        """Go back to the last finite state and stay there: later states would be meaningless."""
        cause = "a hand, wall, spring or torque is too hard"
        step = f"steps of {self.step_ns * 1e-6:g} ms"
        self.unstable = f"the simulation is unstable: {cause} for {step}"
        self._q[:], self._v[:] = self._last, 0.0
        self.data.qacc[:] = self.data.qacc_warmstart[:] = 0.0
        self.now_ns += self.step_ns
        self._sense()

    def _sense(self) -> None:
        mujoco.mj_step1(self.model, self.data)
        if self._motion is not None:
            self._motion()
        else:
            for port in self._ports:
                port.update_jacobian(self.model, self.data)
            self._ledger.J.dot(self._v, self._ledger.twist)
        t = self.now_ns * 1e-9
        for port in self._pushing:
            port.update_pushes(t)
        for touch, tool, wrench in self._touching:
            touch.push(tool, t, wrench)
        for _, tie, a, b, wrench_a, wrench_b in self._ties:
            tie.push(a.tool, b.tool, t, wrench_a, wrench_b)
        self._ledger.sum_touches()


def _joints_that_move(model: mujoco.MjModel, sites: Sequence[int]) -> Array | None:
    """How each joint moves each site, as :func:`tool_motion` takes it; None with other joints."""
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    if not np.isin(model.jnt_type, (hinge, slide)).all():
        return None
    moves = np.zeros((len(sites), 1 + model.nv), dtype=np.int64)
    moves[:, 0] = sites
    for row, site in zip(moves[:, 1:], sites, strict=True):
        body = model.site_bodyid[site]
        while body > 0 and model.body_dofnum[body] == 0:
            body = model.body_parentid[body]
        joint = model.body_dofadr[body] + model.body_dofnum[body] - 1 if body > 0 else -1
        while joint >= 0:
            row[joint] = 1 if model.jnt_type[joint] == hinge else 2
            joint = model.dof_parentid[joint]
    return moves


def _check_name(port: Port, name: str) -> None:
    if name in port.work:
        taken = ", ".join(port.work)
        raise BadValue(f"the robot's energy account has a {name!r} already, beside {taken}")


def _compose(placed: Mapping[str, Placed], step: float, gravity: float) -> mujoco.MjModel:
    """One model with every robot attached at its placement, prefixed by its name."""
    if not placed:
        raise BadValue("a world needs at least one robot")
    spec = mujoco.MjSpec()
    spec.copy_during_attach = True
    spec.option.timestep = step
    spec.option.gravity = [0.0, 0.0, -gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    # MuJoCo would silently reset a diverged simulation; _step stops it instead
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_AUTORESET
    for name, item in placed.items():
        x, y, z, w = item.placement.quaternion
        frame = spec.worldbody.add_frame(pos=list(item.placement.position), quat=[w, x, y, z])
        spec.attach(item.robot.spec(), prefix=f"{name}/", frame=frame)
    model = spec.compile()
    # robots that cannot touch each other need no search for contacts, a sixth of a step
    if not (model.geom_contype.any() or model.geom_conaffinity.any() or model.npair):
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    return model
