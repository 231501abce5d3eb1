"""Haptic devices: workspace, forces, resolution, heat, buttons and the inkwell of a pen."""

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
from farhand.spatial import Array
from farhand.world.joints import JointPush
from farhand.world.world import Port, World

INKWELL_RADIUS_M = 5e-3
"""Distance from its origin at which a pen is still in its inkwell, [m]; assumed."""

VERDICTS = ("not checked", "good", "was off, now corrected", "not in its inkwell")
"""Results of a check; a recording has the index."""

SHAPES = {"box": ("size",), "cylinder": ("axis", "radius", "length"), "ellipsoid": ("size",)}
"""Workspace shapes, centred on the device's origin, and their parameters, full lengths in [m]."""

FRICTION_ONSET_M = 5e-5
"""Displacement after which a device's dry friction is fully there, [m]; assumed."""

WARM_SHARE = 0.8
"""Share of the continuous-force budget from which the peak force is reduced, [-]."""


@dataclass
class Inkwell:
    """A check of the counters with the pen at a known place, once per request.

    A device that is switched on in the wrong place counts from there. In its inkwell, at its
    origin, the true position is known: counters that are off by more than their resolution are
    corrected.

    Attributes:
        verdict: index into :data:`VERDICTS`, of the last check.
    """

    offset: float = parameter(0.0, "m", "by how much the counters are off", -0.1, 0.1)
    check: bool = parameter(False, "-", "whether to check the counters, the pen in its inkwell")

    def __post_init__(self) -> None:
        """Start without a check."""
        self.verdict, self._checked = 0, False

    @property
    def is_due(self) -> bool:
        """Whether a check is due."""
        if not self.check:
            self._checked = False
        return self.check and not self._checked

    def look(self, away: float, resolution: float) -> None:
        """Check a pen ``away`` [m] from its origin, with counters of a ``resolution`` [m]."""
        self._checked = True
        if away > INKWELL_RADIUS_M:
            self.verdict = 3
        elif abs(self.offset) > max(resolution, 1e-9):
            self.verdict, self.offset = 2, 0.0
        else:
            self.verdict = 1


@dataclass(frozen=True)
class Workspace:
    """The space of a device around its origin, of one of the :data:`SHAPES`; lengths in [m]."""

    shape: str = "box"
    size: tuple[float, float, float] = (0.1, 0.1, 0.1)
    axis: str = "x"
    radius: float = 0.05
    length: float = 0.1

    def __post_init__(self) -> None:
        """Refuse an unknown shape or axis."""
        for what, value, known in (("shape", self.shape, SHAPES), ("axis", self.axis, "xyz")):
            if value not in known:
                raise UnknownName(f"workspace {what}", value, known)

    def contains(self, position: Array) -> bool:
        """Whether a position [m] is inside."""
        p = np.asarray(position, dtype=float)
        if self.shape == "cylinder":
            along = "xyz".index(self.axis)
            inside = math.hypot(*np.delete(p, along)) <= self.radius
            return abs(p[along]) <= 0.5 * self.length and inside
        share = 2.0 * p / np.array(self.size)
        return bool((np.abs(share) <= 1.0).all() if self.shape == "box" else share @ share <= 1.0)


@dataclass
class HapticProfile:
    """Forces and resolution of one device. Zero switches an imperfection off."""

    device: str = "device"
    force_peak: float = parameter(3.0, "N", "largest force", 0.0, 1000.0)
    force_continuous: float = parameter(1.0, "N", "force without a time limit", 0.01, 1000.0)
    heat_time: float = parameter(30.0, "s", "time constant of warming", 0.01, 1e5)
    torque_peak: float = parameter(0.0, "N·m", "largest torque of a driven wrist", 0.0, 100.0)
    stiffness_max: float = parameter(1000.0, "N/m", "stiffest wall it renders", 0.0, 1e6)
    position_step: float = parameter(0.0, "m", "resolution of translations", 0.0, 0.01)
    angle_step: float = parameter(0.0, "rad", "resolution of rotations", 0.0, 0.1)
    coulomb: float = parameter(0.0, "N", "dry friction at the handle", 0.0, 100.0)
    holds_weight: bool = parameter(True, "-", "whether it carries its own weight")
    rate: float = parameter(1000.0, "Hz", "rate of communication", 1.0, 1e5)
    workspace: Workspace = field(default_factory=Workspace)
    #: the stiffest wall per axis, where the maker states it, [N/m]
    axis_stiffness: list[float] = field(default_factory=list)
    buttons: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)  #: where each value comes from
    inkwell: Inkwell = field(default_factory=Inkwell)

    def __post_init__(self) -> None:
        """Check every value."""
        validate(self, "haptic")

    def refresh(self) -> None:
        """Refuse a continuous force above the peak."""
        continuous, peak = self.force_continuous, self.force_peak
        if continuous > peak:
            raise BadValue(f"a continuous force of {continuous:g} N is above the peak, {peak:g} N")

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
        return cls(**{**table, "workspace": _workspace(table.get("workspace", {}))})


def _workspace(table: dict[str, Any]) -> Workspace:
    known = {item.name for item in dataclasses.fields(Workspace)}
    for key in table.keys() - known:
        raise UnknownName("key in workspace", key, known)
    return Workspace(**table | ({"size": tuple(table["size"])} if "size" in table else {}))


class DeviceFriction(JointPush):
    """A friction model on some of a robot's joints, evaluated in every step of the world."""

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
    r"""A haptic device of the World: forces on the driven axes, within the limits of its motors.

    The force is limited to the peak and keeps its direction. In the long run it is limited to the
    continuous force: heat follows :math:`T \dot\vartheta = |f|^2/f_{cont}^2 - \vartheta`, and from
    80 % of the budget the peak is reduced, down to the continuous force at 100 %. Efforts on
    passive joints are dropped.

    Args:
        profile: its forces and resolution; that of its robot by default.
        friction: of its driven axes; that of the profile by default.
        imperfections: further errors; others not listed as for :class:`SimulatedPlant`.

    Attributes:
        heat: ϑ, share of the continuous budget in use, [-].
        cut: how many commands were limited.
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
        kinds = self._model.jnt_type[self._model.dof_jntid]
        self._slides = kinds == int(mujoco.mjtJoint.mjJNT_SLIDE)
        if profile.position_step:
            steps = profile.angle_step / profile.position_step
            self.encoder_scale = np.where(self._slides, 1.0, steps)
        self.heat, self.cut, self.limit = 0.0, 0, profile.force_peak
        self.buttons = dict.fromkeys(profile.buttons, False)
        self._pressed = {button: np.zeros(1) for button in self.buttons}
        self._heated_ns = world.now_ns
        self._verdict, self._offset = np.zeros(1), 0.0
        driven = np.flatnonzero(self.actuated & self._slides)
        if friction is None and profile.coulomb:
            onset = profile.coulomb / FRICTION_ONSET_M
            friction = make("dahl", len(driven), coulomb=profile.coulomb, stiffness=onset)
        if friction is not None:
            world.push(name, DeviceFriction(self.port, friction, driven))

    @property
    def force_peak(self) -> float:  # type: ignore[override]
        """Largest force, [N]."""
        return self.profile.force_peak

    def read(self, now_ns: int) -> Sample:
        """The latest sample, counted from where the counters started."""
        well = self.profile.inkwell
        if well.is_due:
            well.look(float(np.linalg.norm(self.port.q[self._slides])), self.profile.position_step)
            self._verdict[0] = well.verdict
        if well.offset != self._offset:
            # The counters jump, the pen does not.
            self._offset, self._position_before = well.offset, None
            self.zero = well.offset * self._slides if well.offset else None
        return super().read(now_ns)

    def record(self, stream: Channels) -> None:
        """Publish the buttons and the verdict of the last check of the counters."""
        self._verdict = stream.channel("calibration", 1, f"index of {', '.join(VERDICTS)}")
        for button, down in self.buttons.items():
            self._pressed[button] = stream.channel(f"button_{button}", 1, "index of up, down")
            self._pressed[button][0] = down

    def press(self, button: str, down: bool = True) -> None:
        """Press or release a button."""
        if button not in self.buttons:
            raise UnknownName(f"button of {self.profile.device}", button, self.buttons)
        self.buttons[button] = down
        self._pressed[button][0] = down

    def write(self, command: Command, now_ns: int) -> None:
        """Take a force for the driven axes, limit it, and carry the weight of the device."""
        super().write(command, now_ns)
        torque = self.port.torque
        force = torque * self._slides
        self._warm(math.sqrt(float(force.dot(force))), now_ns)
        if self.profile.holds_weight:
            weight = pin.computeGeneralizedGravity(self._weight, self._data, self.port.q)
            torque += weight * self.actuated

    def _saturate(self, torque: Array, fraction: float) -> None:
        """Limit the force as a whole: axis by axis it would change direction."""
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
        back = min(max((self.heat - WARM_SHARE) / (1.0 - WARM_SHARE), 0.0), 1.0)
        self.limit = profile.force_peak + back * (profile.force_continuous - profile.force_peak)
