"""Objects that arms carry together: free bodies in the world's model, and the grips that hold on to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from farhand.errors import BadValue
from farhand.parameters import parameter
from farhand.robots import Limits, Robot
from farhand.spatial import rotation_from_vector, rotation_vector
from farhand.world.jaws import THING_BITS
from farhand.world.touch import Tool

Array = np.ndarray


def box(
    size: Array,
    mass: float,
    position: Array,
    table: tuple[float, float] | None = None,
    off: Array | None = None,
) -> Robot:
    """A free, rigid box, to be placed in a world like a robot; its tool point is its middle.

    Box and table touch by the engine's own contact, as does the box with pads. Nothing else
    collides with them.

    Args:
        size: edges along x, y and z, [m].
        mass: [kg].
        position: of its centre, where it starts, axes parallel to the world's, [m].
        table: edges along x and y of a table that just carries it; none if not given, [m].
        off: of its centre of mass from its middle, [m]; none by default.
    """
    edges, at = np.asarray(size, dtype=float), np.asarray(position, dtype=float)
    if not (mass > 0.0 and (edges > 0.0).all()):
        raise BadValue(
            f"an object needs a mass and edges above 0, not {mass:g} kg and {edges.tolist()} m"
        )
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="object")
    body.add_freejoint()
    # fmt: skip
    body.add_geom(
        name="box",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=edges / 2.0,
        mass=mass,
        rgba=[0.72, 0.52, 0.32, 1.0],
        friction=[0.6, 0.005, 0.0001],
        solref=[0.01, 1.0],
        conaffinity=THING_BITS,
    )
    body.add_site(name="tool")
    if off is not None:
        body.mass, body.ipos, body.explicitinertial = mass, np.asarray(off, dtype=float), True
        body.inertia = mass / 12.0 * (edges @ edges - edges**2)
    if table is not None:
        top = at[2] - edges[2] / 2.0
        # fmt: skip
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
    r"""Two pads of a gripper on an object: elastic while they stick, sliding beyond what friction holds.

    .. math::
        s = p_b + R_b r - p_a, \quad f_a = k\,s + d\,\dot s, \qquad
        \tau_a = k_r \log(R_b \Delta R\,R_a^\top) + d_r\,(\omega_b - \omega_a)

    on the tool a; the opposite acts on the object b at the same place,
    :math:`\tau_b = -\tau_a - (p_a - p_b) \times f_a`, so that neither momentum nor energy is made.
    r and ΔR are where the tool was in the object when the grip closed, plus a misfit: jaws that
    close about a place that is not quite theirs squeeze. A force beyond :math:`2 \mu N`, or a
    moment beyond that times the pads' half width, slides.

    Attributes:
        slipped: how far the pads have slid, [m].
    """

    closed: bool = parameter(False, "-", "whether the pads hold")
    stiffness: float = parameter(1e5, "N/m", "stiffness of the pads", 0.0, 1e7)
    damping: float = parameter(500.0, "N·s/m", "damping of the pads", 0.0, 1e5)
    rotational_stiffness: float = parameter(
        1000.0, "N·m/rad", "rotational stiffness of the pads", 0.0, 1e6
    )
    rotational_damping: float = parameter(
        2.0, "N·m·s/rad", "rotational damping of the pads", 0.0, 1e4
    )
    clamp: float = parameter(1500.0, "N", "force of the jaws", 0.0, 1e5)
    friction: float = parameter(0.6, "-", "friction of the pads", 0.0, 5.0)
    pad: float = parameter(0.04, "m", "half width of the pads", 0.0, 1.0)
    misfit: Array = parameter((0.0, 0.0, 0.0), "m", "misfit of the place taken hold of", -0.1, 0.1)

    def __post_init__(self) -> None:
        """Hold nothing yet."""
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
        tau[:] = self.rotational_stiffness * self.twisted + self.rotational_damping * (
            spin - a.twist[3:]
        )
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
        wrung = self.rotational_stiffness * float(np.sqrt(self.twisted.dot(self.twisted)))
        if wrung > most * self.pad > 0.0:
            self.twisted *= most * self.pad / wrung
            self._turn = R_b.T @ rotation_from_vector(self.twisted) @ R_a
