"""Inkwell: the place a pen is put into to see whether its counters begin where they should."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

from farhand.errors import BadValue, FileError, UnknownName
from farhand.friction import Friction, make
from farhand.parameters import parameter, validate
from farhand.plants.plant import Channels, Command, JointTorque, Sample
from farhand.plants.simulated.port import Imperfections, SimulatedPlant
from farhand.robots import Robot
from farhand.robots.description import load_toml
from farhand.world.joints import JointPush
from farhand.world.world import Port, World

REACH = 5e-3
"""How far from its origin a pen still counts as in its inkwell, [m]; assumed."""

VERDICTS = ("not checked", "good", "was off, now corrected", "not in its inkwell")
"""What a check may find; a recording has the index."""


@dataclass
class Inkwell:
    """A check of the counters, once for every time it is asked for.

    A device that is switched on in the wrong place counts from there. In its inkwell, at its
    origin, the true place is known: counters that are off by more than their own resolution are set
    right, others are left alone.

    Attributes:
        verdict: index of what the last check found, in :data:`VERDICTS`.
    """

    offset: float = parameter(0.0, "m", "by how much the counters are off", -0.1, 0.1)
    check: bool = parameter(False, "-", "whether to check the counters, the pen in its inkwell")

    def __post_init__(self) -> None:
        """Nothing checked yet."""
        self.verdict, self._checked = 0, False

    @property
    def asked(self) -> bool:
        """Whether a check is due."""
        if not self.check:
            self._checked = False
        return self.check and not self._checked

    def look(self, away: float, resolution: float) -> None:
        """Check, the pen truly ``away`` [m] from its origin, its counters of a ``resolution`` [m]."""
        self._checked = True
        if away > REACH:
            self.verdict = 3
        elif abs(self.offset) > max(resolution, 1e-9):
            self.verdict, self.offset = 2, 0.0
        else:
            self.verdict = 1


# Haptic device: a simulated pen or handle with its workspace, its forces, its resolution, its
# heat and its buttons.

Array = np.ndarray

SHAPES = {"box": ("size",), "cylinder": ("axis", "radius", "length"), "ellipsoid": ("size",)}
"""Workspace shapes, centred on the device's origin, and what describes each; sizes are full
lengths, [m]."""

STICKING = 5e-5
"""Displacement before a device's dry friction is all there, [m]; assumed."""

WARM = 0.8
"""Share of the continuous-force budget from which the peak force is taken back, [-]."""


@dataclass(frozen=True)
class Workspace:
    """Where a device is meant to be used, about its origin.

    Attributes:
        shape: one of :data:`SHAPES`.
        size: full lengths of a box or an ellipsoid, [m].
        axis: along which a cylinder lies.
        radius: of a cylinder, [m].
        length: of a cylinder, [m].
    """

    shape: str = "box"
    size: tuple[float, float, float] = (0.1, 0.1, 0.1)
    axis: str = "x"
    radius: float = 0.05
    length: float = 0.1

    def __post_init__(self) -> None:
        """Only shapes and axes that mean something."""
        for what, value, known in (("shape", self.shape, SHAPES), ("axis", self.axis, "xyz")):
            if value not in known:
                raise UnknownName(f"workspace {what}", value, known)

    def contains(self, position: Array) -> bool:
        """Whether a place [m] is inside."""
        p = np.asarray(position, dtype=float)
        if self.shape == "cylinder":
            along = "xyz".index(self.axis)
            return (
                abs(p[along]) <= 0.5 * self.length
                and math.hypot(*np.delete(p, along)) <= self.radius
            )
        share = 2.0 * p / np.array(self.size)
        return bool((np.abs(share) <= 1.0).all() if self.shape == "box" else share @ share <= 1.0)


@dataclass
class HapticProfile:
    """What one device gives and resolves. Zero switches an imperfection off.

    Attributes:
        device: its name.
        axis_stiffness: the same per axis, where the maker says so, [N/m].
        workspace: where it is meant to be used.
        buttons: their names.
        sources: where each value comes from.
        inkwell: where its counters are checked.
    """

    device: str = "device"
    force_peak: float = parameter(3.0, "N", "largest force", 0.0, 1000.0)
    force_continuous: float = parameter(1.0, "N", "force kept up for ever", 0.01, 1000.0)
    heat_time: float = parameter(30.0, "s", "time constant of warming", 0.01, 1e5)
    torque_peak: float = parameter(0.0, "N·m", "largest torque of a driven wrist", 0.0, 100.0)
    stiffness_max: float = parameter(1000.0, "N/m", "stiffest wall it renders", 0.0, 1e6)
    position_step: float = parameter(0.0, "m", "resolution of translations", 0.0, 0.01)
    angle_step: float = parameter(0.0, "rad", "resolution of rotations", 0.0, 0.1)
    coulomb: float = parameter(0.0, "N", "dry friction at the handle", 0.0, 100.0)
    holds_weight: bool = parameter(True, "-", "whether it carries its own weight")
    rate: float = parameter(1000.0, "Hz", "how fast it can be spoken to", 1.0, 1e5)
    workspace: Workspace = field(default_factory=Workspace)
    axis_stiffness: list[float] = field(default_factory=list)
    buttons: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    inkwell: Inkwell = field(default_factory=Inkwell)

    def __post_init__(self) -> None:
        """Check every value."""
        validate(self, "haptic")

    def refresh(self) -> None:
        """Values that make sense together."""
        if self.force_continuous > self.force_peak:
            raise BadValue(
                f"a continuous force of {self.force_continuous:g} N is more than the peak of {self.force_peak:g} N"
            )

    @classmethod
    def of(cls, robot: Robot) -> HapticProfile:
        """The profile beside a robot's model.

        Raises:
            FileError: the robot has none.
            ModelError: it cannot be read.
        """
        path = robot.source.with_name("haptic.toml")
        if not path.is_file():
            raise FileError(f"{robot.name} has no haptic profile: there is no {path}")
        table = load_toml(path)
        known = {item.name for item in dataclasses.fields(cls)}
        for key in table.keys() - known:
            raise UnknownName(f"key in {path}", key, known)
        return cls(**{**table, "workspace": _workspace(table)})


def _workspace(table: dict[str, Any]) -> Workspace:
    given: dict[str, Any] = table.get("workspace", {})
    known = {item.name for item in dataclasses.fields(Workspace)}
    for key in given.keys() - known:
        raise UnknownName("key in workspace", key, known)
    if "size" in given:
        given["size"] = tuple(given["size"])
    return Workspace(**given)


class DeviceFriction(JointPush):
    """Any friction model on a robot's joints, evaluated in every step of the world.

    Args:
        port: of the robot.
        friction: a model of as many joints as ``joints``.
        joints: which joints it acts on.
    """

    def __init__(self, port: Port, friction: Friction, joints: Array) -> None:
        self.now = np.zeros(port.nv)
        self._port, self._friction, self._joints = port, friction, joints
        self._t = 0.0

    def at(self, t: float) -> None:
        """Write the friction's torque at time ``t`` [s] into ``now``."""
        dt, self._t = t - self._t, t
        if dt > 0.0:
            pushed = self._port.torque[self._joints]
            self.now[self._joints] = -self._friction.step(self._port.v[self._joints], dt, pushed)


class HapticPlant(SimulatedPlant):
    r"""A device of the World as its driver presents it: forces on the driven axes, within what its motors stand.

    The force is cut to the peak, keeping its direction. A budget keeps it to the continuous force
    in the long run: heat follows :math:`T \dot\vartheta = |f|^2/f_{cont}^2 - \vartheta`, and from
    80 % of the budget the peak is taken back, down to the continuous force at 100 %. Efforts on
    passive joints are dropped.

    Args:
        world: the world the device stands in.
        name: its name there.
        profile: what it can do; that of its robot by default.
        friction: of its driven axes; by default what the profile says of it.
        imperfections: what else is wrong with it.
        rng: source of noise.

    Attributes:
        heat: ϑ, share of the continuous budget in use, [-].
        cut: how many commands were cut.
        buttons: which are pressed, by name.
    """

    accepts: frozenset[type[Command]] = frozenset({JointTorque})

    def __init__(
        self,
        world: World,
        name: str,
        profile: HapticProfile | None = None,
        friction: Friction | None = None,
        imperfections: Imperfections | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        placed = world.placed[name]
        self.profile = profile = profile or HapticProfile.of(placed.robot)
        super().__init__(
            world, name, imperfections or Imperfections(encoder_step=profile.position_step), rng
        )
        self._weight = placed.robot.pinocchio(placed.placement, -float(world.model.opt.gravity[2]))
        self._data = self._weight.createData()
        self._slides = self._model.jnt_type[self._model.dof_jntid] == int(
            mujoco.mjtJoint.mjJNT_SLIDE
        )
        if profile.position_step:
            self.encoder_scale = np.where(
                self._slides, 1.0, profile.angle_step / profile.position_step
            )
        self.heat, self.cut, self.limit = 0.0, 0, profile.force_peak
        self.buttons = dict.fromkeys(profile.buttons, False)
        self._pressed = {button: np.zeros(1) for button in self.buttons}
        self._heated_ns = world.now_ns
        self._verdict, self._offset = np.zeros(1), 0.0
        if friction is None and profile.coulomb:
            bend = profile.coulomb / STICKING
            friction = make(
                "dahl",
                int((self.actuated & self._slides).sum()),
                coulomb=profile.coulomb,
                stiffness=bend,
            )
        if friction is not None:
            world.push(
                name,
                DeviceFriction(self.port, friction, np.flatnonzero(self.actuated & self._slides)),
            )

    @property
    def force_peak(self) -> float:  # type: ignore[override]
        """Largest force, [N]."""
        return self.profile.force_peak

    def read(self, now_ns: int) -> Sample:
        """The latest sample, counted from where the counters began."""
        well = self.profile.inkwell
        if well.asked:
            well.look(float(np.linalg.norm(self.port.q[self._slides])), self.profile.position_step)
            self._verdict[0] = well.verdict
        if well.offset != self._offset:
            # the counters jump, the pen does not
            self._offset, self._position_before = (well.offset, None)
            self.zero = well.offset * self._slides if well.offset else None
        return super().read(now_ns)

    def record(self, stream: Channels) -> None:
        """Publish the buttons, of which a recording tells as events, and what the last check of the counters found."""
        self._verdict = stream.channel("calibration", 1, f"index of {', '.join(VERDICTS)}")
        for button, down in self.buttons.items():
            self._pressed[button] = stream.channel(f"button_{button}", 1, "index of up, down")
            self._pressed[button][0] = down

    def press(self, button: str, down: bool = True) -> None:
        """Press or let go of a button."""
        if button not in self.buttons:
            raise UnknownName(f"button of {self.profile.device}", button, self.buttons)
        self.buttons[button] = down
        self._pressed[button][0] = down

    def write(self, command: Command, now_ns: int) -> None:
        """Take a force for the driven axes, cut it to what the motors stand, and carry the weight beside it."""
        super().write(command, now_ns)
        torque = self.port.torque
        force = torque * self._slides
        self._warm(math.sqrt(float(force.dot(force))), now_ns)
        if self.profile.holds_weight:
            torque += (
                pin.computeGeneralizedGravity(self._weight, self._data, self.port.q) * self.actuated
            )

    def _saturate(self, torque: Array, fraction: float) -> None:
        """Cut the force as a whole: one axis at a time would turn it."""
        for axes, limit in ((self._slides, self.limit), (~self._slides, self.profile.torque_peak)):
            part = torque * axes
            size, most = math.sqrt(float(part.dot(part))), fraction * limit
            if size > most:
                torque[axes] *= most / size
                self.cut += 1

    def _warm(self, force: float, now_ns: int) -> None:
        profile = self.profile
        dt, self._heated_ns = (now_ns - self._heated_ns) * 1e-9, now_ns
        if profile.force_continuous == profile.force_peak:
            self.limit = profile.force_peak
            return
        load = (force / profile.force_continuous) ** 2
        self.heat += (load - self.heat) * -math.expm1(-dt / profile.heat_time)
        back = min(max((self.heat - WARM) / (1.0 - WARM), 0.0), 1.0)
        self.limit = profile.force_peak + back * (profile.force_continuous - profile.force_peak)
