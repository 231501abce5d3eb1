"""Closed-form kinematics of arm and leg, and the leg's centre of gravity: H-01 to H-07."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.arm import Arm
from farhand.mapping.limbs import ArmChain, LegChain
from farhand.rigs.humanoid.parts import Limb
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation

Array = np.ndarray

SAMPLES = 20_000
MM = 1e3  # millimetres in a metre
POSTURE = np.radians([30.0, 40.0, 60.0])

ARM_PLACES = (
    ((0.0, 0.0, 0.0), (0.0, 0.0, -229.0)),
    ((30.0, 40.0, 60.0), (146.9119, 113.1306, -70.8615)),
    ((0.0, 0.0, 120.0), (91.7987, 0.0, -70.0)),
)
"""Angles [°] and places [mm] of the arm, derived in sources/humanoid §3.1."""

LEG_PLACES = (
    ((0.0, 0.0, 0.0), (0.0, 0.0, 332.0)),
    ((10.0, 15.0, 40.0), (-24.4586, -45.8198, 309.8570)),
    ((0.0, 20.0, 60.0), (-44.3778, 0.0, 290.1616)),
)
"""Lean r, dorsiflexion, knee [°] and places [mm], sources/humanoid §3.2; on the left r is −ρ."""

LEG_CENTRES = (
    ((0.0, 0.0, 0.0), (3.905, 5.282, 128.278)),
    ((10.0, 15.0, 40.0), (9.924, -9.004, 123.591)),
    ((0.0, 20.0, 0.0), (33.376, 5.282, 123.081)),
    ((0.0, -40.0, 0.0), (-51.481, 5.282, 108.118)),
)
"""As above with centres of gravity [mm], sources/humanoid §3.3."""


def postures(chain: ArmChain | LegChain, count: int = SAMPLES) -> Array:
    """Random postures inside the limits, [rad]."""
    rng = generator(f"postures {type(chain).__name__} {chain.side}")
    return rng.uniform(chain.lowest, chain.highest, (count, 3))


def differences(function: Callable[[Array], Array], q: Array, h: float = 1e-6) -> Array:
    """Central differences of a vector function, (…, 3, 3)."""
    columns = [(function(q + h * e) - function(q - h * e)) / (2.0 * h) for e in np.eye(3)]
    return np.stack(columns, axis=-1)


def _relative(values: Array, expected: Array) -> float:
    return float(np.abs(values - expected).max() / np.abs(expected).max())


def _round_trip(chain: ArmChain | LegChain) -> tuple[float, bool, float]:
    """Of random postures: largest error [mm], whether all have a solution, share with both."""
    p = chain.forward(postures(chain))
    q, valid = chain.candidates(p)
    away = np.where(valid, np.linalg.norm(chain.forward(q) - p[:, None], axis=-1), 0.0)
    return MM * float(away.max()), bool(valid.any(-1).all()), float(valid.all(-1).mean())


@experiment("H-01")
def arm_forward() -> Finding:
    """Three postures, one of them with its angles."""
    arm = ArmChain()
    off = max(np.abs(MM * arm.forward(np.radians(q)) - p).max() for q, p in ARM_PLACES)
    turned = np.abs(np.degrees(arm.angles(POSTURE)) - [18.8478, -5.8144, 124.0246]).max()
    R = arm.rotation(postures(arm, 200))
    square = float(np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max())
    model = max(_model_apart(f"{side}-arm") for side in ("left", "right"))
    note = (
        f"angles off by {turned:.1e}°; rotations orthogonal to {square:.1e}; the rig's models of "
        f"both arms within {model:.0e} mm of the closed form"
    )
    ok = off <= 1e-3 and turned <= 1e-3 and square < 1e-12 and model <= 1e-3
    return Finding(off, ok, note)


def _model_apart(limb: str) -> float:
    """How far the end of the rig's model is from the closed form at random postures, [mm]."""
    made, worst = Limb.named(limb), 0.0
    arm = Arm.of(made.robot)
    for q in postures(made.chain, 100):
        arm.update(q, np.zeros(3))
        away = arm.position - made.base - made.chain.forward(q)
        worst = max(worst, MM * float(np.linalg.norm(away)))
    return worst


@experiment("H-02")
def arm_inverse() -> Finding:
    """Both arms; then places far outside, inside the elbow, behind, and not numbers."""
    (left, solved, _), (right, mirrored, both) = (
        _round_trip(ArmChain(side=side)) for side in (1, -1)
    )
    worst = max(left, right)
    places = {
        "unreachable": [(0.5, 0.0, 0.0), (0.0, 0.0, -0.01), (0.0, 0.17, 0.0)],
        "limited": [(0.0, 0.01, -0.02), (-0.1, 0.05, 0.0)],
        "invalid": [(np.nan, 0.0, 0.0)],
    }
    correct = True
    for status, points in places.items():
        for point in points:
            answer = ArmChain().solve(np.array(point), POSTURE)
            correct &= answer.status == status and np.array_equal(answer.q, POSTURE)
    note = (
        f"both branches inside the limits in {100 * both:.0f} % (expected 45 %); "
        "out of reach the posture is held"
    )
    return Finding(worst, worst < 1e-6 and solved and mirrored and correct, note)


@experiment("H-03")
def printed_abduction() -> Finding:
    """θ₂ = atan2(Y (Z − L₂S₁S₃), −C₁ (L₁ + L₂C₃)²) as printed, with the true θ₁ and θ₃."""
    arm = ArmChain()
    q = postures(arm)
    p = arm.forward(q)
    s1, c1, s3, c3 = np.sin(q[:, 0]), np.cos(q[:, 0]), np.sin(q[:, 2]), np.cos(q[:, 2])
    top, below = p[:, 1] * (p[:, 2] - arm.fore * s1 * s3), -c1 * (arm.upper + arm.fore * c3) ** 2
    away, plain = (
        MM * np.linalg.norm(arm.forward(np.stack([q[:, 0], second, q[:, 2]], axis=-1)) - p, axis=-1)
        for second in (np.arctan2(top, below), np.arctan(top / below))
    )
    ours = _round_trip(arm)[0]
    share = 100.0 * float((away > 1.0).mean())
    few = 100.0 * float((plain > 1.0).mean())
    note = (
        f"median {np.median(away):.0f} mm with atan2, as the text says; {few:.0f} % and "
        f"{np.median(plain):.0f} mm with the printed arctan; the corrected formula errs by "
        f"{ours:.0e} mm"
    )
    return Finding(share, share > 90.0 and few > 90.0 and ours < 1e-6, note)


@experiment("H-04")
def arm_jacobian() -> Finding:
    """Both arms; the flag at a straight elbow, at 90° of abduction, and nowhere else."""
    off, det_off = 0.0, 0.0
    for side in (1, -1):
        arm = ArmChain(side=side)
        q = postures(arm, 2000)
        J = arm.jacobian(q)
        off = max(off, _relative(J, differences(arm.forward, q)))
        det_off = max(det_off, _relative(arm.determinant(q), np.linalg.det(J)))
    arm = ArmChain()
    golden = 1e9 * float(arm.determinant(POSTURE))
    cases = [30.0, 40.0, 0.2], [30.0, 89.8, 60.0], [30.0, 40.0, 60.0]
    flags = [bool(arm.singular(np.radians(q))) for q in cases]
    ok = off <= 1e-5 and det_off < 1e-9 and abs(golden / 1.522328e6 - 1.0) < 1e-6
    ok = ok and flags == [True, True, False]
    note = (
        f"det {golden:.6g} mm³ (expected 1.522328e6), closed form to {det_off:.0e}; flags {flags}"
    )
    return Finding(off, ok, note)


@experiment("H-05")
def leg_kinematics() -> Finding:
    """The anatomical form; lean is outward on both sides."""
    left, right = LegChain(), LegChain(side=-1)
    golden = max(np.abs(MM * left.forward(_anatomical(q)) - p).max() for q, p in LEG_PLACES)
    trips = [_round_trip(leg) for leg in (left, right)]
    worst = max(error for error, _, _ in trips)
    q = postures(left, 1000)
    mirror = float(np.abs(left.forward(q) - right.forward(q) * [1.0, -1.0, 1.0]).max())
    ok = golden <= 1e-3 and worst < 1e-6 and all(solved for _, solved, _ in trips)
    model = max(_model_apart(f"{side}-leg") for side in ("left", "right"))
    ok = ok and mirror < 1e-15 and model <= 1e-3
    note = (
        f"golden vectors to {golden:.1e} mm; mirror to {mirror:.0e} m; the rig's models of both "
        f"legs within {model:.0e} mm of the closed form"
    )
    return Finding(worst, ok, note)


def _anatomical(q: tuple[float, float, float]) -> Array:
    """Angles of the left leg for the source's r, d, k [°], [rad]."""
    return np.radians([-q[0], q[1], q[2]])


@experiment("H-06")
def leg_jacobian() -> Finding:
    """Both legs, and the closed form of the left determinant in the source's angles."""
    off = 0.0
    for side in (1, -1):
        leg = LegChain(side=side)
        q = postures(leg, 2000)
        off = max(off, _relative(leg.jacobian(q), differences(leg.forward, q)))
    leg = LegChain()
    q = postures(leg, 2000)
    height = leg.shank * np.cos(q[:, 1]) + leg.thigh * np.cos(q[:, 1] - q[:, 2])
    # θ₁ = −ρ and θ₃ = −k turn the printed sign twice, S₃ once
    closed = leg.shank * leg.thigh * np.sin(q[:, 2]) * height
    det_off = _relative(np.abs(np.linalg.det(leg.jacobian(q))), np.abs(closed))
    note = f"det = L1 L2 S3 (L1 C2 + L2 C23) up to sign, to {det_off:.0e}"
    return Finding(off, off <= 1e-5 and det_off < 1e-9, note)


@experiment("H-07")
def leg_centre() -> Finding:
    """Four postures to the printed digits; the printed sign of CM1y beside the corrected one."""
    leg = LegChain()
    golden = max(np.abs(MM * leg.centre(_anatomical(q)) - c).max() for q, c in LEG_CENTRES)
    off = 0.0
    for side in (1, -1):
        chain = LegChain(side=side)
        q = postures(chain, 2000)
        off = max(off, _relative(chain.centre_jacobian(q), differences(chain.centre, q)))
    q = postures(leg, 2000)
    printed = _relative(leg.centre_jacobian(q), differences(lambda at: _printed_centre(leg, at), q))
    note = f"Jacobian to {off:.0e}; against the printed COG_y it is off by {100 * printed:.0f} %"
    return Finding(golden, golden <= 6e-4 and off <= 1e-5 and printed > 1e-2, note)


def _printed_centre(leg: LegChain, q: Array) -> Array:
    """Centre of gravity with the printed sign of CM1y."""
    wrong = 2.0 * leg.masses[1] * leg.side * leg.shank_out * np.cos(q[..., 0]) / sum(leg.masses)
    return leg.centre(q) - wrong[..., None] * np.array([0.0, 1.0, 0.0])


def _printed_branch(
    self: ArmChain, x: Array, y: Array, z: Array, first: Array, elbow: Array
) -> Array:
    s1, c1, s3, c3 = np.sin(first), np.cos(first), np.sin(elbow), np.cos(elbow)
    second = np.arctan2(y * (z - self.fore * s1 * s3), -c1 * (self.upper + self.fore * c3) ** 2)
    return np.stack([np.arctan2(s1, c1), second, elbow], axis=-1)


MUTATIONS = [
    Mutation(
        "printed-abduction", "the second angle of the arm is as printed", ("H-02", "H-03")
    ).patch(ArmChain, "_branch", _printed_branch),
    Mutation("knee-sign", "the knee's column of J has the wrong sign", ("H-06", "H-07")).change(
        LegChain, "_turned", lambda whole: lambda *a: whole(*a) * [1.0, 1.0, -1.0]
    ),
    Mutation("short-arm", "the arm is a millimetre short", ("H-01",)).change(
        ArmChain, "forward", lambda whole: lambda self, q: whole(self, q) * (1.0 - 1e-3 / 0.229)
    ),
    Mutation("one-sided-lean", "both legs lean to the same side of the world", ("H-05",)).change(
        LegChain, "forward", lambda whole: lambda self, q: whole(self, q) * [1.0, self.side, 1.0]
    ),
    Mutation("no-singular-flag", "nothing counts as singular", ("H-04",)).patch(
        ArmChain, "singular", lambda self, q, share=0.0: np.zeros(q.shape[:-1], dtype=bool)
    ),
]
