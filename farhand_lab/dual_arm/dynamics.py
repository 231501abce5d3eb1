"""Dynamics of the published arm: mass matrix, Coriolis, friction, gravity, integrators, Γ."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import farhand.rigs.dual_arm.parts
from farhand.arm import Arm
from farhand.coupling import virtual_constraints
from farhand.loop.station import Station
from farhand.plants.simulated.rigid import RigidPlant
from farhand.robots import load_robot
from farhand.robots.edits import scale_mass, set_damping
from farhand_lab.dual_arm.mutations import invert, terms_changed
from farhand_lab.dual_arm.pair import REST, VISCOUS, CoupledArms, largest, rig_pair, states
from farhand_lab.harness import Finding, experiment, generator
from farhand_lab.mutation import Mutations
from farhand_lab.trial import dual_arm, run

Array = np.ndarray


SPEED = np.array([1.0, -0.8, 0.6, 1.0, -1.2, 1.5])  # a lively motion of all joints, [rad/s]
EIGENVALUES = (0.45, 0.84, 1.04, 42.0, 48.0, 55.0)  # of Γ at q_A, prototype, [1/kg] and [1/(kg·m²)]
MS = 1_000_000  # [ns]


@experiment("D-07")
def mass_matrix() -> Finding:
    """B(q) of the rig's leader against the kinetic energy of the tabulated links."""
    pair, worst, smallest = rig_pair(), 0.0, np.inf
    arm, table = pair.arms[0], pair.tables[0]
    for q, v in states("mass matrix", 1000):
        arm.update(q, v)
        worst = max(worst, largest(arm.M - table.mass_matrix(q), arm.M - arm.M.T))
        smallest = min(smallest, float(np.linalg.eigvalsh(arm.M)[0]))
    note = f"smallest eigenvalue {smallest:.3f} kg·m²"
    return Finding(worst, worst < 1e-10 and smallest > 0.0, note)


@experiment("D-08")
def coriolis() -> Finding:
    """The torque C q̇ by Christoffel symbols of the tabulated B(q), derived by complex steps."""
    pair, worst, power = rig_pair(), 0.0, 0.0
    arm, table = pair.arms[0], pair.tables[0]
    for q, v in states("coriolis", 200):
        arm.update(q, v)
        # ∂B/∂q_k
        dB = np.array([table.mass_matrix(q + 1e-30j * joint).imag / 1e-30 for joint in np.eye(6)])
        rate = np.tensordot(v, dB, 1)
        worst = max(worst, largest(arm.coriolis - (rate @ v - 0.5 * dB @ v @ v)))
        power = max(power, abs(v @ rate @ v - 2.0 * v @ arm.coriolis))
    return Finding(worst, worst < 1e-7 and power < 1e-8, f"q̇ᵀ(Ḃ − 2C)q̇ ≤ {power:.0e} W")


@experiment("D-09")
def friction() -> Finding:
    """The rig's follower coasts, and one with the printed sign; the law knows the same friction."""
    right, printed = _coast_in_rig(), _coast(-1.0)
    decreases = bool((np.diff(right) < 0.0).all() and (np.diff(_coast(1.0)) < 0.0).all())
    law = _friction_in_law()
    note = (
        f"kinetic energy left after 0.3 s; with the printed sign ×{printed[-1]:.1f}; "
        f"the law's share to {law:.0e}"
    )
    return Finding(right[-1], decreases and printed[-1] > 2.0 and law < 1e-9, note)


@experiment("D-10")
def gravity() -> Finding:
    """Both arms coupled and left alone; then a follower that is 5 % heavier than its model."""
    still, heavy = _drift_at_rest(10.0), _drift_at_rest(1.0, ("rig.model_mass", 1.05))
    return Finding(still, still <= 1e-6 and heavy > 1e-3, f"5 % too heavy: {heavy:.3f} rad in 1 s")


@experiment("D-12")
def gamma() -> Finding:
    """The law's Γ against the stacked form from the tables, at random states and at the start."""
    pair, worst = rig_pair(damping=0.01), 0.0
    of_leader, of_follower = states("gamma of the leader", 200), states("of the follower", 200)
    for a, b in zip(of_leader, of_follower, strict=True):
        pair.set_state(*a, *b)
        worst = max(worst, largest(_law_gamma(pair) - _stacked_gamma(pair)))
    home = load_robot("ur5e").postures["q_A"]
    pair.set_state(home, REST, home, REST)
    eigenvalues = np.linalg.eigvalsh(_law_gamma(pair))
    off = largest(eigenvalues / EIGENVALUES - 1.0)
    listed = ", ".join(f"{value:.3g}" for value in eigenvalues)
    ok = worst < 1e-10 and eigenvalues[0] > 0.0 and off < 0.01
    return Finding(worst, ok, f"at q_A {listed}: {100.0 * off:.1f} % at most")


@experiment("D-21")
def damped_inverse() -> Finding:
    """Both arms stretched out along y and 10 mm apart in that direction."""
    sizes = {rho: _stretched(rho) for rho in (0.0, 1e-3, 1e-2)}
    bounded = all(sizes[rho] <= 110.87 * 0.01 / (2.0 * rho) for rho in (1e-3, 1e-2))
    unbounded = not np.isfinite(sizes[0.0]) or sizes[0.0] > 1e6
    note = f"ρ = 1e-3: {sizes[1e-3]:.4g} N; ρ = 0: {sizes[0.0]:.0e} N"
    return Finding(sizes[1e-2], bounded and unbounded, note)


@experiment("D-26")
def energy() -> Finding:
    """Kinetic energy without gravity; kinetic plus potential energy while the arm falls."""
    changes = [_energy_change(acceleration) for acceleration in (0.0, 9.81)]
    note = f"without gravity {changes[0]:.0e}, falling {changes[1]:.0e}"
    return Finding(max(changes), max(changes) < 1e-3, note)


@experiment("D-27")
def integrator() -> Finding:
    """A slide under constant force; the follower under constant torque against a finer RK4."""
    slide = RigidPlant("slide", Arm.of(load_robot("point3"), gravity=0.0), np.zeros(3), MS)
    slide.torque[:] = force = np.array([0.3, -0.2, 0.1])
    slide.advance(1000 * MS)
    a = np.linalg.solve(slide.arm.M, force)
    exact = largest(slide.q - 0.5 * a, slide.v - a)
    reference = _pushed("rk4", MS // 10)
    errors = [largest(_pushed("zoh", h) - reference) for h in (2 * MS, MS, MS // 2)]
    ratios = [errors[0] / errors[1], errors[1] / errors[2]]
    ok = exact < 1e-12 and all(abs(ratio - 2.0) < 0.05 for ratio in ratios)
    note = f"constant acceleration to {exact:.0e}; error {errors[1]:.1e} rad at 1 ms after 0.2 s"
    return Finding(ratios[1], ok, note)


@experiment("D-29")
def mass_scale() -> Finding:
    """Clones in the same posture: the follower takes a fifth of what pushes the leader."""
    pair, ratio, share = rig_pair(), 0.0, 0.0
    rng = generator("pushes")
    for q, _ in states("mass scale", 100):
        pair.set_state(q, REST, q, REST)
        ratio = max(ratio, largest(pair.arms[1].M - 0.25 * pair.arms[0].M))
        if np.linalg.cond(pair.arms[0].J) < 100.0:
            pair.a.wrench = rng.normal(size=6)
            pair.law.engage(pair.a, pair.b)
            share = max(share, largest(pair.multiplier() - 0.2 * pair.a.wrench))
    note = f"undamped; B₂ − 0.25 B₁ ≤ {ratio:.0e} kg·m²"
    return Finding(share, share < 1e-10 and ratio < 1e-12, note)


def _follower(gravity: float = 0.0, viscous: bool = True) -> Arm:
    """The follower's arm: a quarter of the leader's masses and friction."""
    robot = load_robot("ur5e").edited(set_damping(VISCOUS if viscous else 0.0), scale_mass(0.25))
    return Arm.of(robot, gravity=gravity)


def _coast(sign: float) -> Array:
    """Kinetic energy over 0.3 s with only ``sign`` times friction, as a share of its start."""
    arm = _follower()
    arm.viscous *= sign
    plant = RigidPlant("follower", arm, load_robot("ur5e").home)
    plant.v = 0.5 * SPEED
    energies = []
    for step in range(301):
        plant.advance(step * MS)
        arm.update(plant.q, plant.v)
        energies.append(arm.kinetic_energy())
    return np.array(energies) / energies[0]


def _coast_in_rig() -> Array:
    """The same of the follower in the rig's world, without gravity."""
    rig = dual_arm("virtual-constraints", "rest", ("rig.gravity", 0.0))
    port, arm = rig.world.ports["follower"], rig.session.stations[1].arm
    port.v[:] = 0.5 * SPEED
    rig.world.refresh()
    energies = []
    for step in range(301):
        rig.world.advance(step * MS)
        arm.update(port.q, port.v)
        energies.append(arm.kinetic_energy())
    rig.close()
    return np.array(energies) / energies[0]


def _friction_in_law() -> float:
    """Error of what friction changes in the law's u, against Γ⁻¹ (J₂B₂⁻¹μ₂q̇₂ − J₁B₁⁻¹μ₁q̇₁)."""
    pair, worst = rig_pair(), 0.0
    home = load_robot("ur5e").home
    known = [arm.viscous.copy() for arm in pair.arms]
    for _, v in states("friction", 20):
        pair.set_state(home + 0.3 * v, v, home - 0.2 * v, v[::-1].copy())
        pair.law.engage(pair.a, pair.b)
        shares = []
        for factor in (1.0, 0.0):
            for arm, viscous in zip(pair.arms, known, strict=True):
                arm.viscous[:] = factor * viscous
            shares.append(pair.multiplier())
        slowed = [
            table.jacobian(arm.q) @ np.linalg.solve(table.mass_matrix(arm.q), viscous * arm.v)
            for arm, table, viscous in zip(pair.arms, pair.tables, known, strict=True)
        ]
        expected = np.linalg.solve(_stacked_gamma(pair), slowed[1] - slowed[0])
        worst = max(worst, largest(shares[0] - shares[1] - expected))
    return worst


def _drift_at_rest(seconds: float, *settings: tuple[str, object]) -> float:
    result = run(dual_arm("virtual-constraints", "rest", *settings), seconds)
    joints = [result.signal(name, "q") for name in ("leader", "follower")]
    return max(largest(q - q[0]) for q in joints)


def _law_gamma(pair: CoupledArms) -> Array:
    pair.multiplier()
    return pair.law.gamma


def _stacked_gamma(pair: CoupledArms) -> Array:
    """G M⁻¹ Gᵀ of the tables, with G = [−J₁ J₂] and M = blkdiag(B₁, B₂)."""
    G, M = np.zeros((6, 12)), np.zeros((12, 12))
    blocks = slice(0, 6), slice(6, 12)
    for arm, table, sign, block in zip(pair.arms, pair.tables, (-1.0, 1.0), blocks, strict=True):
        G[:, block] = sign * table.jacobian(arm.q)
        M[block, block] = table.mass_matrix(arm.q)
    return G @ np.linalg.solve(M, G.T)


def _stretched(damping: float) -> float:
    """‖u‖ with both arms at q_L and the follower 10 mm from where it should be along y."""
    pair, q = rig_pair(damping=damping), load_robot("ur5e").postures["q_L"]
    pair.set_state(q, REST, q, REST)
    pair.law.engage(pair.a, pair.b)
    pair.law.mapping.offset_position += [0.0, 0.01, 0.0]
    return float(np.linalg.norm(pair.multiplier()))


def _energy_change(gravity: float) -> float:
    """Largest change of energy over 1 s of RK4, as a share of the kinetic energy at the start."""
    arm = _follower(gravity, viscous=False)
    plant = RigidPlant("follower", arm, load_robot("ur5e").home, MS, "rk4")
    plant.v = SPEED.copy()
    energies = []
    for step in range(0, 1001, 10):
        plant.advance(step * MS)
        arm.update(plant.q, plant.v)
        potential = pin.computePotentialEnergy(arm.model, arm.data, plant.q)
        energies.append(arm.kinetic_energy() + potential)
    arm.update(load_robot("ur5e").home, SPEED)
    return float(np.ptp(energies)) / arm.kinetic_energy()


def _pushed(integrator: str, step_ns: int) -> Array:
    """Configuration of the follower after 0.2 s of constant torque from a lively start."""
    plant = RigidPlant("follower", _follower(), load_robot("ur5e").home, step_ns, integrator)
    plant.v = SPEED.copy()
    plant.torque[:] = 0.5 * SPEED
    plant.advance(200 * MS)
    return plant.q


MUTATIONS = Mutations()


@MUTATIONS.of(Arm, "of", "D-07")
def light_rotors(of, *parts, **named):
    """Rotor inertia is 0.1 % too small."""
    arm = of(*parts, **named)
    arm.model.armature = 0.999 * arm.model.armature
    arm.refresh()
    return arm


@MUTATIONS.of(Arm, "compute", "D-08 D-26")
def less_coriolis(compute, self):
    """1 % of the Coriolis torque is missing."""
    compute(self)
    self.bias[:] -= 0.01 * (self.bias - self.gravity)


@MUTATIONS.of(RigidPlant, "acceleration", "D-09")
def pushing_friction(acceleration, self, q, v, t):
    """Friction has the printed sign (E-09)."""
    a = acceleration(self, q, v, t)
    return a + np.linalg.solve(self.arm.M, 2.0 * self.arm.viscous * v)


@MUTATIONS.of(virtual_constraints, "constraint_force", "D-09")
def friction_unknown_to_the_law(constraint_force, *known):
    """The law leaves friction out."""
    terms_changed(viscous=0.0)(constraint_force)(*known)


@MUTATIONS.of(virtual_constraints, "constraint_force", "D-12 D-29")
def small_gamma(constraint_force, *known):
    """Γ is 0.1 % too small."""
    constraint_force(*known)
    invert(0.999 * known[-3], constraint_force, *known)


@MUTATIONS.of(Station, "act", "D-10")
def less_gravity(act, self, now_ns):
    """99 % of gravity is compensated."""
    act(self, now_ns)
    self._commanded -= 0.01 * self.arm.gravity
    self.plant.write(self.controller.command, now_ns)


@MUTATIONS.of(RigidPlant, "_zoh", "D-27")
def euler_step(zoh, self, h):
    """Positions leave ½h²a out."""
    a = self.acceleration(self.q, self.v, self.now_ns * 1e-9)
    self.q, self.v = self.q + h * self.v, self.v + h * a


@MUTATIONS.of(virtual_constraints, "constraint_force", "D-21")
def undamped(constraint_force, *known):
    """Γ is inverted without damping."""
    *others, gains, gamma, back, efforts = known
    constraint_force(*others, np.concatenate([gains[:12], [0.0]]), gamma, back, efforts)


@MUTATIONS.of(farhand.rigs.dual_arm.parts, "scale_mass", "D-29")
def bodies_only(scale, factor):
    """Scaling the masses leaves the rotors as they are."""

    def edit(spec) -> None:
        armatures = [joint.armature for joint in spec.joints]
        scale(factor)(spec)
        for joint, armature in zip(spec.joints, armatures, strict=True):
            joint.armature = armature

    return edit
