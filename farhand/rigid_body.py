r"""The rigid-body terms of an arm on a fixed base as one compiled function.

Everything is expressed in world axes about the tool point. Joint i then moves the tool by its screw
:math:`s_i`, which is a column of the Jacobian, and with the composite inertia :math:`I_i` of all
that hangs on it

.. math:: M_{ij} = s_i^\top I_j s_j, \qquad c_i = s_i^\top f_i, \qquad g_i = -s_i^\top w_i

where :math:`f_i` is the wrench of inertia of these bodies while no joint accelerates, and
:math:`w_i` that of their weight. About the tool point the light links of the wrist keep their
digits; about the world's origin they would lose them to the weight of the arm.

Pinocchio computes the same terms for robots of any kind; :class:`farhand.arm.Arm` chooses.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from farhand.compiled import compiled
from farhand.kernels import Triple, cross, put, triple, turn_row
from farhand.spatial import Array

INSIDE = 1.0 - 1e-9
"""Up to which share of its limit a value is surely inside, whatever was rounded."""

UNIT = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}

# Columns of a link: rotation and origin on its parent, axis, 1 for a hinge, mass, centre of mass,
# inertia about it (xx, xy, yy, xz, yz, zz), rotor inertia. The last link is the frame of the tool;
# its mass is the acceleration of gravity.
ORIGIN, AXIS, HINGE, MASS, CENTRE, INERTIA, ROTOR, LINK = 9, 12, 15, 16, 17, 20, 26, 27

# Columns of a body: as above in world axes, then angular velocity, angular acceleration and the
# acceleration of the origin; of all that hangs on it, about the tool: mass, first moment, inertia,
# force and torque of inertia; and the screw of its joint.
OMEGA, ALPHA, ACCELERATION, WEIGHT, MOMENT, SPREAD, FORCE, TORQUE, SCREW, BODY = (
    15, 18, 21, 24, 25, 28, 34, 37, 40, 46,
)  # fmt: skip


class RigidBody:
    """The links of an arm as numbers, and room for its terms.

    Args:
        model: the arm; its joints are hinges and slides.
        frame: number of the tool's frame.
    """

    def __init__(self, model: pin.Model, frame: int) -> None:
        self._model, self._frame = model, frame
        self.links = np.zeros((model.nv + 1, LINK))
        self.parents = np.zeros(model.nv + 1, dtype=np.int64)
        # the row behind the tool's, number -1, is the world
        self.bodies = np.zeros((model.nv + 2, BODY))
        self.bodies[-1, :ORIGIN] = np.eye(3).reshape(9)
        self.refresh()

    @staticmethod
    def suits(model: pin.Model) -> bool:
        """Whether every joint is a hinge or a slide, and gravity points down."""
        kinds = (joint.shortname() for joint in list(model.joints)[1:])
        known = all(kind[10:11] in "RP" and "UB" not in kind for kind in kinds)
        return known and model.nq == model.nv and not model.gravity.linear[:2].any()

    def refresh(self) -> None:
        """Take the numbers from the model again, after it was changed."""
        model, tool = self._model, self._model.frames[self._frame]
        placements = [*model.jointPlacements[1:], tool.placement]
        for link, placement in zip(self.links, placements, strict=True):
            link[:ORIGIN], link[ORIGIN:AXIS] = placement.rotation.reshape(9), placement.translation
        for i in range(model.nv):
            link, joint, inertia = self.links[i], model.joints[i + 1], model.inertias[i + 1]
            kind, tensor = joint.shortname().removeprefix("JointModel"), inertia.inertia
            link[AXIS:HINGE] = UNIT[kind[1]] if len(kind) == 2 else joint.extract().axis
            link[HINGE], link[MASS] = kind[0] == "R", inertia.mass
            link[CENTRE:INERTIA] = inertia.lever
            link[INERTIA:ROTOR] = tensor[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
            link[ROTOR] = model.armature[i]
        self.links[-1, MASS] = -model.gravity.linear[2]
        self.parents[:-1] = [parent - 1 for parent in list(model.parents)[1:]]
        self.parents[-1] = tool.parentJoint - 1


@compiled
def turn(body: Array, a: Triple) -> Triple:
    """A triple in the axes of a body, in world axes."""
    return (
        body[0] * a[0] + body[1] * a[1] + body[2] * a[2],
        body[3] * a[0] + body[4] * a[1] + body[5] * a[2],
        body[6] * a[0] + body[7] * a[1] + body[8] * a[2],
    )


@compiled
def accelerated(body: Array, lever: Triple) -> Triple:
    """Acceleration of the point of a body at ``lever`` from its origin, no joint accelerating."""
    omega = triple(body, OMEGA)
    a, b = cross(triple(body, ALPHA), lever), cross(omega, cross(omega, lever))
    return (
        body[ACCELERATION] + a[0] + b[0],
        body[ACCELERATION + 1] + a[1] + b[1],
        body[ACCELERATION + 2] + a[2] + b[2],
    )


@compiled
def place(link: Array, base: Array, q: float, v: float, body: Array) -> None:
    """Pose, velocity and acceleration of a link's body, from those of the body it hangs on."""
    shift = turn(base, triple(link, ORIGIN))
    for c in range(3):
        column = turn(base, (link[c], link[3 + c], link[6 + c]))
        body[c], body[3 + c], body[6 + c] = column
    x, y, z = triple(link, AXIS)
    axis = turn(body, (x, y, z))
    omega, alpha = triple(base, OMEGA), triple(base, ALPHA)
    sweep = cross(omega, (axis[0] * v, axis[1] * v, axis[2] * v))
    if link[HINGE] > 0.0:
        sine, versine = math.sin(q), 1.0 - math.cos(q)
        for r in range(0, 9, 3):
            put(body, r, turn_row(triple(body, r), (x, y, z), sine, versine))
        omega = omega[0] + axis[0] * v, omega[1] + axis[1] * v, omega[2] + axis[2] * v
        alpha = alpha[0] + sweep[0], alpha[1] + sweep[1], alpha[2] + sweep[2]
        coriolis = 0.0
    else:
        shift = shift[0] + axis[0] * q, shift[1] + axis[1] * q, shift[2] + axis[2] * q
        coriolis = 2.0
    moved = accelerated(base, shift)
    for r in range(3):
        body[ORIGIN + r] = base[ORIGIN + r] + shift[r]
        body[AXIS + r], body[OMEGA + r], body[ALPHA + r] = axis[r], omega[r], alpha[r]
        body[ACCELERATION + r] = moved[r] + coriolis * sweep[r]


@compiled
def weigh(link: Array, tool: Triple, body: Array) -> None:
    """Mass, moments and wrench of inertia of one body about the tool, and its joint's screw."""
    mass, centre = link[MASS], turn(body, triple(link, CENTRE))
    a, b, c, d, e, f = link[20], link[21], link[22], link[23], link[24], link[25]
    first = turn(body, (a, b, d))
    second = turn(body, (b, c, e))
    third = turn(body, (d, e, f))
    x = turn(body, (first[0], second[0], third[0]))
    y = turn(body, (first[1], second[1], third[1]))
    z = turn(body, (first[2], second[2], third[2]))
    xx, xy, yy, xz, yz, zz = x[0], x[1], y[1], x[2], y[2], z[2]
    p, r, s = triple(body, OMEGA)
    t, u, w = triple(body, ALPHA)
    spin = xx * p + xy * r + xz * s, xy * p + yy * r + yz * s, xz * p + yz * r + zz * s
    gyro = cross((p, r, s), spin)
    force = accelerated(body, centre)
    force = mass * force[0], mass * force[1], mass * force[2]
    lever = tool[0] - body[ORIGIN], tool[1] - body[ORIGIN + 1], tool[2] - body[ORIGIN + 2]
    i, j, k = centre[0] - lever[0], centre[1] - lever[1], centre[2] - lever[2]
    arm = cross((i, j, k), force)
    body[WEIGHT] = mass
    put(body, MOMENT, (mass * i, mass * j, mass * k))
    put(body, SPREAD, (xx + mass * (j * j + k * k), xy - mass * i * j, yy + mass * (i * i + k * k)))
    put(body, SPREAD + 3, (xz - mass * i * k, yz - mass * j * k, zz + mass * (i * i + j * j)))
    put(body, FORCE, force)
    body[TORQUE] = xx * t + xy * u + xz * w + gyro[0] + arm[0]
    body[TORQUE + 1] = xy * t + yy * u + yz * w + gyro[1] + arm[1]
    body[TORQUE + 2] = xz * t + yz * u + zz * w + gyro[2] + arm[2]
    axis = triple(body, AXIS)
    if link[HINGE] > 0.0:
        put(body, SCREW, cross(axis, lever))
        put(body, SCREW + 3, axis)
    else:
        put(body, SCREW, axis)
        put(body, SCREW + 3, (0.0, 0.0, 0.0))


@compiled
def terms(links: Array, parents: Array, bodies: Array, state: Array) -> None:
    """All terms at the joints' positions and velocities, with which the ``state`` begins.

    Args:
        links: the arm, one row per joint and one for the tool.
        parents: number of the body that each link hangs on; -1 for the world.
        bodies: room to work in, a row per link and one for the world.
        state: as :class:`farhand.arm.Arm` lays it out.
    """
    n = len(parents) - 1
    for i in range(n):
        place(links[i], bodies[parents[i]], state[i], state[n + i], bodies[i])
    frame, last = links[n], bodies[parents[n]]
    lever = turn(last, triple(frame, ORIGIN))
    point = last[ORIGIN] + lever[0], last[ORIGIN + 1] + lever[1], last[ORIGIN + 2] + lever[2]
    for i in range(n):
        weigh(links[i], point, bodies[i])
    pose = state[2 * n :]
    put(pose, 0, point)
    for c in range(3):  # column by column
        put(pose, 3 + 3 * c, turn(last, (frame[c], frame[3 + c], frame[6 + c])))
    twist, M = state[2 * n + 12 :], state[2 * n + 18 :]
    J, bias = M[n * n :], M[n * n + 6 * n :]
    gravity, drift = bias[n:], bias[2 * n :]
    put(drift, 0, accelerated(last, lever))
    put(drift, 3, triple(last, ALPHA))
    for r in range(6):
        twist[r] = 0.0
    for k in range(n * n + 6 * n):
        M[k] = 0.0
    down = frame[MASS]
    for i in range(n - 1, -1, -1):
        body, j = bodies[i], parents[i]
        if j >= 0:
            for k in range(WEIGHT, SCREW):
                bodies[j, k] += body[k]
        mass, moment, s = body[WEIGHT], triple(body, MOMENT), body[SCREW:]
        gravity[i] = down * (mass * s[2] + moment[1] * s[3] - moment[0] * s[4])
        total = 0.0
        for r in range(6):
            total += s[r] * body[FORCE + r]
        bias[i] = gravity[i] + total
        # momentum of all that hangs on the joint while it moves at one radian (metre) per second
        linear, angular = triple(s, 0), triple(s, 3)
        swing, lift = cross(angular, moment), cross(moment, linear)
        xx, xy, yy, xz, yz, zz = body[28], body[29], body[30], body[31], body[32], body[33]
        p0, p1, p2 = mass * s[0] + swing[0], mass * s[1] + swing[1], mass * s[2] + swing[2]
        l0 = xx * s[3] + xy * s[4] + xz * s[5] + lift[0]
        l1 = xy * s[3] + yy * s[4] + yz * s[5] + lift[1]
        l2 = xz * s[3] + yz * s[4] + zz * s[5] + lift[2]
        k = i
        while k >= 0:
            o = bodies[k, SCREW:]
            inertia = o[0] * p0 + o[1] * p1 + o[2] * p2 + o[3] * l0 + o[4] * l1 + o[5] * l2
            M[i * n + k] = M[k * n + i] = inertia
            k = parents[k]
        M[i * n + i] += links[i, ROTOR]
    k = parents[n]
    while k >= 0:
        for r in range(6):
            J[r * n + k] = bodies[k, SCREW + r]
            twist[r] += bodies[k, SCREW + r] * state[n + k]
        k = parents[k]


@compiled
def take(
    links: Array, parents: Array, bodies: Array, state: Array, values: Array, bounds: Array
) -> int:
    """See :meth:`farhand.arm.Arm.take`."""
    if bounds.shape[1] != len(values):
        return 0
    force = moment = 0.0
    for i in range(len(values)):
        share = (values[i] - bounds[0, i]) * bounds[1, i]
        # also true of what is not a number
        if not abs(share) < INSIDE:
            return 0
        if i >= len(values) - 3:
            moment += share * share
        elif i >= len(values) - 6:
            force += share * share
    if force > INSIDE or moment > INSIDE:
        return 0
    n = len(parents) - 1
    state[: 2 * n] = values[: 2 * n]
    terms(links, parents, bodies, state)
    for r in range(3):
        if not bounds[2, r] <= state[2 * n + r] <= bounds[3, r]:
            return 2
    return 1


@compiled
def joint_torque(state: Array, nq: int, torque: Array, wrench: Array) -> None:
    """Jᵀ w + g: what exerts a wrench at the tool and carries the arm, [N·m].

    Args:
        state: of the arm, as :class:`farhand.arm.Arm` lays it out.
        nq: how many numbers its configuration has.
        torque: result.
        wrench: w, [N] and [N·m].
    """
    n = len(torque)
    J = state[nq + n + 18 + n * n :]
    for i in range(n):
        total = J[7 * n + i]
        for r in range(6):
            total += wrench[r] * J[r * n + i]
        torque[i] = total
