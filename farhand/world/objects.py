"""Objects that arms carry: free boxes, the grips that hold on to them, and jaws with contact."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from farhand.errors import BadValue, ModelError
from farhand.parameters import parameter
from farhand.robots import Limits, Robot
from farhand.robots.edits import Edit
from farhand.robots.model_file import TOOL, compile_spec
from farhand.spatial import Array, rotation_from_vector, rotation_vector
from farhand.world.contacts import contact_wrench
from farhand.world.touches import Tool

PADS = ("pad_upper", "pad_lower")
PAD_HALF_EDGES = np.array([0.01, 0.04, 0.03])
"""Half edges of a pad in tool axes: closing, along and into the object; assumed, [m]."""

PAD_BIT, OBJECT_BITS = 2, 3
"""Pads touch what they hold and nothing else; what they hold touches its table too."""

CONTACT_IMPEDANCE = 0.95
"""Impedance d of the engine's contact; the rest, 1 − d, makes a pad soft, [-]."""

CONTACT_POINTS = 4
"""Points at which the engine lets a pad touch a flat face."""


def box(
    size: Array,
    mass: float,
    position: Array,
    table: tuple[float, float] | None = None,
    off: Array | None = None,
) -> Robot:
    """A free, rigid box, to be placed in a world like a robot; its tool point is its middle.

    A box touches its table, pads and other boxes by the engine's own contact. Nothing else collides
    with it.

    Args:
        size: edges along x, y and z, [m].
        mass: [kg].
        position: of its centre, where it starts, axes parallel to the world's, [m].
        table: edges along x and y of a table under it, if any, [m].
        off: centre of mass from its middle, [m].
    """
    edges, at = np.asarray(size, dtype=float), np.asarray(position, dtype=float)
    if not (mass > 0.0 and (edges > 0.0).all()):
        size_text = f"{mass:g} kg and {edges.tolist()} m"
        raise BadValue(f"an object needs a mass and edges above 0, not {size_text}")
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="object")
    body.add_freejoint()
    body.add_geom(
        name="box",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=edges / 2.0,
        mass=mass,
        rgba=[0.72, 0.52, 0.32, 1.0],
        solref=[0.01, 1.0],
        conaffinity=OBJECT_BITS,
    )
    body.add_site(name="tool")
    if off is not None:
        body.mass, body.ipos, body.explicitinertial = mass, np.asarray(off, dtype=float), True
        body.inertia = mass / 12.0 * (edges @ edges - edges**2)
    if table is not None:
        top = at[2] - edges[2] / 2.0
        spec.worldbody.add_geom(
            name="table",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[table[0] / 2.0, table[1] / 2.0, top / 2.0],
            pos=[at[0], at[1], top / 2.0],
            rgba=[0.55, 0.57, 0.6, 1.0],
            solref=[0.01, 1.0],
        )
    free = np.full(6, np.inf)
    return Robot(
        name="object",
        variant="",
        variants=("",),
        source=Path("object"),
        home=np.array([*at, 1.0, 0.0, 0.0, 0.0]),
        postures={},
        limits=Limits(-free, free, free, free),
        actuated=np.zeros(6, dtype=bool),
        rates={},
        sources={"mass": "given"},
        description=f"box of {mass:g} kg",
        _base=spec,
    )


@dataclass
class Grip:
    r"""Two pads of a gripper on an object: elastic while they stick, sliding beyond friction.

    .. math::
        s = p_b + R_b r - p_a, \quad f_a = k\,s + d\,\dot s, \qquad
        \tau_a = k_r \log(R_b \Delta R\,R_a^\top) + d_r\,(\omega_b - \omega_a)

    on the tool a; the opposite acts on the object b at the same place,
    :math:`\tau_b = -\tau_a - (p_a - p_b) \times f_a`, so that neither momentum nor energy is made.
    r and ΔR are the tool's pose in the object when the grip closed, plus a misfit: jaws that close
    at a slightly wrong place squeeze. A force beyond :math:`2 \mu N`, or a moment beyond that times
    the pads' half width, slides.

    Attributes:
        slipped: how far the pads have slid, [m].
    """

    closed: bool = parameter(False, "-", "whether the pads hold")
    stiffness: float = parameter(1e5, "N/m", "stiffness of the pads", 0.0, 1e7)
    damping: float = parameter(500.0, "N·s/m", "damping of the pads", 0.0, 1e5)
    rotational_stiffness: float = parameter(1000.0, "N·m/rad", "rotational stiffness", 0.0, 1e6)
    rotational_damping: float = parameter(2.0, "N·m·s/rad", "rotational damping", 0.0, 1e4)
    clamp: float = parameter(1500.0, "N", "force of the jaws", 0.0, 1e5)
    friction: float = parameter(0.6, "-", "friction of the pads", 0.0, 5.0)
    pad: float = parameter(0.04, "m", "half width of the pads", 0.0, 1.0)
    misfit: Array = parameter((0.0, 0.0, 0.0), "m", "misfit of the place taken hold of", -0.1, 0.1)

    def __post_init__(self) -> None:
        self._held = False
        self._place, self._turn = np.zeros(3), np.eye(3)
        self.stretch, self.twisted, self.slipped = np.zeros(3), np.zeros(3), 0.0

    def push(self, a: Tool, b: Tool, t: float, wrench_a: Array, wrench_b: Array) -> None:
        """Hold tool ``a`` and object ``b`` together."""
        if not self.closed:
            self._held = False
            wrench_a[:] = wrench_b[:] = self.stretch[:] = self.twisted[:] = 0.0
            return
        if not self._held:
            self._hold(a, b)
        f, tau, arm = wrench_a[:3], wrench_a[3:], b.rotation.dot(self._place)
        np.subtract(b.position, a.position, out=self.stretch)
        self.stretch += arm
        self.twisted[:] = rotation_vector(b.rotation.dot(self._turn).dot(a.rotation.T))
        self._slide(b.rotation, a.rotation)
        rate, spin = b.twist[:3] - a.twist[:3], b.twist[3:]
        rate[0] += spin[1] * arm[2] - spin[2] * arm[1]
        rate[1] += spin[2] * arm[0] - spin[0] * arm[2]
        rate[2] += spin[0] * arm[1] - spin[1] * arm[0]
        f[:] = self.stiffness * self.stretch + self.damping * rate
        turn_rate = spin - a.twist[3:]
        tau[:] = self.rotational_stiffness * self.twisted + self.rotational_damping * turn_rate
        x, y, z = (a.position - b.position).tolist()
        fx, fy, fz = f.tolist()
        np.negative(wrench_a, out=wrench_b)
        wrench_b[3] -= y * fz - z * fy
        wrench_b[4] -= z * fx - x * fz
        wrench_b[5] -= x * fy - y * fx

    @property
    def stored(self) -> float:
        """½ k |s|² + ½ k_r |twist|², [J]."""
        linear = self.stiffness * float(self.stretch @ self.stretch)
        return 0.5 * (linear + self.rotational_stiffness * float(self.twisted @ self.twisted))

    def _hold(self, a: Tool, b: Tool) -> None:
        self._held = True
        self._place = b.rotation.T @ (a.position - b.position) + self.misfit
        self._turn = b.rotation.T @ a.rotation

    def _slide(self, R_b: Array, R_a: Array) -> None:
        """Let the pads slide until friction holds again."""
        most = 2.0 * self.friction * self.clamp
        pull = self.stiffness * float(np.sqrt(self.stretch.dot(self.stretch)))
        if pull > most:
            beyond = (1.0 - most / pull) * self.stretch
            self._place -= R_b.T.dot(beyond)
            self.stretch -= beyond
            self.slipped += float(np.linalg.norm(beyond))
        moment = self.rotational_stiffness * float(np.sqrt(self.twisted.dot(self.twisted)))
        if moment > most * self.pad:
            self.twisted *= most * self.pad / moment
            self._turn = R_b.T @ rotation_from_vector(self.twisted) @ R_a


def add_pads(height: float, crush: float) -> Edit:
    """Give a gripper two pads that press into an object of this height by ``crush``, [m].

    The jaws close along the tool's x axis.
    """

    def edit(spec: mujoco.MjSpec) -> None:
        site = spec.site(TOOL)
        if site is None:
            raise ModelError(f"no site named {TOOL!r} to fix the pads to")
        model = compile_spec(spec, "pads")
        index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, TOOL)
        turn, place = np.zeros(9), model.site_pos[index]
        mujoco.mju_quat2Mat(turn, model.site_quat[index])
        for name, side in zip(PADS, (-1.0, 1.0), strict=True):
            at = np.array(
                [side * (0.5 * height + PAD_HALF_EDGES[0] - crush), 0.0, PAD_HALF_EDGES[2]]
            )
            site.parent.add_geom(
                name=name,
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=PAD_HALF_EDGES,
                pos=place + turn.reshape(3, 3) @ at,
                quat=model.site_quat[index],
                mass=0.0,
                contype=PAD_BIT,
                conaffinity=0,
                condim=3,
                priority=1,
                solimp=[CONTACT_IMPEDANCE, CONTACT_IMPEDANCE, 0.001, 0.5, 2.0],
                rgba=[0.2, 0.2, 0.22, 1.0],
            )

    return edit


@dataclass
class Jaws:
    r"""Two pads that hold an object by the engine's own contact, opened and closed at run time.

    Closed, both press into it by a depth δ that the model gives them (:func:`add_pads`), with the
    force N. The engine's contact has the normal force :math:`f = s\,\delta / ((1 - d) \hat A)` at
    each of its points, with impedance d and inverse inertia Â, so its stiffness s follows from N.
    It is critically damped. Friction slides beyond 2 μ N; below, the engine lets it creep a little,
    as it has no stiffness along a face.
    """

    closed: bool = parameter(False, "-", "whether the jaws hold")
    clamp: float = parameter(750.0, "N", "force of the jaws", 1.0, 1e5)
    friction: float = parameter(0.6, "-", "friction of the pads", 0.0, 5.0)
    time: float = parameter(0.2, "s", "time in which they close", 1e-3, 10.0)
    crush: float = 0.0075  #: δ, [m]

    def join(self, model: mujoco.MjModel, robot: str, thing: str) -> None:
        """Take the pads of ``robot`` in the world's model, open, for ``thing``."""
        self._model = model
        self._pads = [model.geom(f"{robot}/{name}").id for name in PADS]
        self._touching = np.zeros(model.ngeom, dtype=bool)
        self._touching[self._pads] = True
        body, held = model.geom_bodyid[self._pads[0]], model.geom(f"{thing}/box").bodyid[0]
        # [1/kg]
        self._inverse = float(model.body_invweight0[body, 0] + model.body_invweight0[held, 0])
        self._share = 0.0
        self._set()

    def step(self, dt: float) -> None:
        """Close further, or open, over ``dt`` [s]."""
        share = min(1.0, self._share + dt / self.time) if self.closed else 0.0
        if share != self._share:
            self._share = share
            self._set()

    def feel(self, data: mujoco.MjData, position: Array, wrench: Array) -> None:
        """Write the contact wrench of the last step on the tool at ``position`` [m], [N], [N·m]."""
        if self._share:
            contact_wrench(data, self._touching, position, wrench)
        else:
            wrench[:] = 0.0

    def _set(self) -> None:
        force = self._share * self.clamp / CONTACT_POINTS
        stiffness = force * (1.0 - CONTACT_IMPEDANCE) * self._inverse / self.crush
        stiffness = max(stiffness, 1e-6)
        for pad in self._pads:
            self._model.geom_contype[pad] = PAD_BIT if self._share else 0
            self._model.geom_friction[pad, 0] = self.friction
            # negative values set stiffness and damping directly
            self._model.geom_solref[pad] = -stiffness, -2.0 * np.sqrt(stiffness)
