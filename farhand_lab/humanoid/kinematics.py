"""Closed-form kinematics of arm and leg, and the leg's centre of gravity: H-01 to H-07."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from farhand.mapping.limbs import ArmChain, LegChain
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutation

Array = np.ndarray

SAMPLES = 20_000
MM = 1e3
"""Millimetres in a metre."""

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
"""Lean r, dorsiflexion, knee [°] and places [mm] of the leg, sources/humanoid §3.2; on the
left r is minus ρ."""

LEG_CENTRES = (
    ((0.0, 0.0, 0.0), (3.905, 5.282, 128.278)),
    ((10.0, 15.0, 40.0), (9.924, -9.004, 123.591)),
    ((0.0, 20.0, 0.0), (33.376, 5.282, 123.081)),
    ((0.0, -40.0, 0.0), (-51.481, 5.282, 108.118)),
)
"""As above with centres of gravity [mm], sources/humanoid §3.3."""


def postures(chain: ArmChain | LegChain, count: int = SAMPLES) -> Array:
    """Random postures inside the limits, [rad]."""
    return generator(f"postures {type(chain).__name__} {chain.side}").uniform(
        chain.lowest, chain.highest, (count, 3)
    )


def differences(function: Callable[[Array], Array], q: Array, h: float = 1e-6) -> Array:
    """Central differences of a vector function, (…, 3, 3)."""
    columns = [(function(q + h * e) - function(q - h * e)) / (2.0 * h) for e in np.eye(3)]
    return np.stack(columns, axis=-1)


def _relative(found: Array, wanted: Array) -> float:
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


@experiment("H-01")
def arm_forward() -> Finding:
    """Three postures, one of them with its angles."""
    arm = ArmChain()
    off = max(np.abs(MM * arm.forward(np.radians(q)) - p).max() for q, p in ARM_PLACES)
    turned = np.abs(
        np.degrees(arm.angles(np.radians([30.0, 40.0, 60.0]))) - [18.8478, -5.8144, 124.0246]
    ).max()
    R = arm.rotation(postures(arm, 200))
    square = float(np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max())
    note = f"angles off by {turned:.1e}°; rotations orthogonal to {square:.1e}"
    return Finding(off, off <= 1e-3 and turned <= 1e-3 and square < 1e-12, note)


@experiment("H-02")
def arm_inverse() -> Finding:
    """Both arms; then places far outside, inside the elbow, behind, and not numbers."""
    worst, found, both = 0.0, True, 0.0
    for side in (1, -1):
        arm = ArmChain(side=side)
        p = arm.forward(postures(arm))
        q, valid = arm.candidates(p)
        away = np.linalg.norm(arm.forward(q) - p[:, None], axis=-1)
        worst = max(worst, MM * float(np.where(valid, away, 0.0).max()))
        found &= bool(valid.any(-1).all())
        both = float(valid.all(-1).mean())
    arm, near = ArmChain(), np.radians([30.0, 40.0, 60.0])
    places = {
        (0.5, 0.0, 0.0): "unreachable",
        (0.0, 0.0, -0.01): "unreachable",
        (0.0, 0.17, 0.0): "unreachable",
    }
    places |= {
        (0.0, 0.01, -0.02): "limited",
        (-0.1, 0.05, 0.0): "limited",
        (np.nan, 0.0, 0.0): "invalid",
    }
    answers = {place: arm.solve(np.array(place), near) for place in places}
    honest = all(answers[place].status == status for place, status in places.items())
    honest &= all(np.array_equal(answer.q, near) for answer in answers.values())
    note = f"both branches inside the limits in {100 * both:.0f} % (expected 45 %); out of reach the posture is held"
    return Finding(worst, worst < 1e-6 and found and honest, note)


@experiment("H-03")
def printed_abduction() -> Finding:
    """θ₂ = atan2(Y (Z − L₂S₁S₃), −C₁ (L₁ + L₂C₃)²) as printed, with the true θ₁ and θ₃; ours beside it."""
    arm = ArmChain()
    q = postures(arm)
    p = arm.forward(q)
    s1, c1, s3, c3 = np.sin(q[:, 0]), np.cos(q[:, 0]), np.sin(q[:, 2]), np.cos(q[:, 2])
    top, below = p[:, 1] * (p[:, 2] - arm.fore * s1 * s3), -c1 * (arm.upper + arm.fore * c3) ** 2
    away, plain = (
        MM * np.linalg.norm(arm.forward(np.stack([q[:, 0], second, q[:, 2]], axis=-1)) - p, axis=-1)
        for second in (np.arctan2(top, below), np.arctan(top / below))
    )
    found, valid = arm.candidates(p)
    ours = MM * float(
        np.where(valid, np.linalg.norm(arm.forward(found) - p[:, None], axis=-1), 0.0).max()
    )
    share = 100.0 * float((away > 1.0).mean())
    few = 100.0 * float((plain > 1.0).mean())
    note = (
        f"median {np.median(away):.0f} mm with atan2, as the text asks for; {few:.0f} % and {np.median(plain):.0f} mm "
        f"with the printed arctan; the corrected formula errs by {ours:.0e} mm"
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
    golden = 1e9 * float(arm.determinant(np.radians([30.0, 40.0, 60.0])))
    flags = [
        bool(arm.singular(np.radians(q)))
        for q in ([30.0, 40.0, 0.2], [30.0, 89.8, 60.0], [30.0, 40.0, 60.0])
    ]
    ok = (
        off <= 1e-5
        and det_off < 1e-9
        and abs(golden / 1.522328e6 - 1.0) < 1e-6
        and flags == [True, True, False]
    )
    return Finding(
        off,
        ok,
        f"det {golden:.6g} mm³ (expected 1.522328e6), closed form to {det_off:.0e}; flags {flags}",
    )


@experiment("H-05")
def leg_kinematics() -> Finding:
    """The anatomical form; lean is outward on both sides."""
    left, right = LegChain(), LegChain(side=-1)
    golden = max(np.abs(MM * left.forward(_anatomical(q)) - p).max() for q, p in LEG_PLACES)
    worst, found = 0.0, True
    for leg in (left, right):
        p = leg.forward(postures(leg))
        q, valid = leg.candidates(p)
        away = np.where(valid, np.linalg.norm(leg.forward(q) - p[:, None], axis=-1), 0.0)
        worst, found = max(worst, MM * float(away.max())), found and bool(valid.any(-1).all())
    q = postures(left, 1000)
    mirror = float(np.abs(left.forward(q) - right.forward(q) * [1.0, -1.0, 1.0]).max())
    ok = golden <= 1e-3 and worst < 1e-6 and found and mirror < 1e-15
    return Finding(worst, ok, f"golden vectors to {golden:.1e} mm; mirror to {mirror:.0e} m")


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
    return Finding(
        off,
        off <= 1e-5 and det_off < 1e-9,
        f"det = L1 L2 S3 (L1 C2 + L2 C23) up to sign, to {det_off:.0e}",
    )


@experiment("H-07")
def leg_centre() -> Finding:
    """Four postures to the printed digits; the printed sign of CM1y in COG_y beside the corrected one."""
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


def _printed_branch(whole: object) -> Callable[..., Array]:
    def branch(self: ArmChain, x: Array, y: Array, z: Array, first: Array, elbow: Array) -> Array:
        s1, c1, s3, c3 = np.sin(first), np.cos(first), np.sin(elbow), np.cos(elbow)
        second = np.arctan2(y * (z - self.fore * s1 * s3), -c1 * (self.upper + self.fore * c3) ** 2)
        return np.stack([np.arctan2(s1, c1), second, elbow], axis=-1)

    return branch


MUTATIONS = [
    Mutation(
        "printed-abduction", "the arm's second angle is found as printed", ("H-02", "H-03")
    ).change(ArmChain, "_branch", _printed_branch),
    Mutation(
        "no-minus-in-leg-jacobian",
        "the knee's column of the leg's Jacobian has the wrong sign",
        ("H-06", "H-07"),
    ).change(LegChain, "_turned", lambda whole: lambda *a: whole(*a) * [1.0, 1.0, -1.0]),
    Mutation("short-arm", "the arm is a millimetre short", ("H-01",)).change(
        ArmChain, "forward", lambda whole: lambda self, q: whole(self, q) * (1.0 - 1e-3 / 0.229)
    ),
    Mutation("heel-strike-lean", "both legs lean to the same side of the world", ("H-05",)).change(
        LegChain, "forward", lambda whole: lambda self, q: whole(self, q) * [1.0, self.side, 1.0]
    ),
    Mutation("blunt-singular-flag", "nothing counts as singular", ("H-04",)).patch(
        ArmChain, "singular", lambda self, q, share=0.0: np.zeros(q.shape[:-1], dtype=bool)
    ),
]
