"""The whole rig: ticks and repetition, operator and surroundings, hard wall, bench test: Y-01, Y-54, Y-56, Y-58."""

from __future__ import annotations

import numpy as np

from farhand.mapping.axis_map import PEN
from farhand.plants.plant import JointTorque
from farhand.plants.simulated.haptic import HapticPlant
from farhand.rigs import Options, build_rig
from farhand.robots import load_robot
from farhand.robots.edits import set_armature
from farhand.world import ForceHand, ForcePulse, GroundSpring, ImpedanceHand, Placed, Wall, World
from farhand.world.touch import Touch
from farhand_lab.harness import Figure, Finding, experiment, generator, shared
from farhand_lab.trial import Run, run
from farhand_lab.youbot.geometric_spring import GeometricSpring

Array = np.ndarray

GROUP = "youbot"
MS = 1_000_000
KT, KF = 700.0, 10.0  # published
AHEAD = 0.02  # of the tool at rest stands the rig's wall [m]


@shared
def teleoperated(
    scenario: str, seconds: float, *settings: tuple[str, object], seed: int = 0, again: int = 0
) -> Run:
    """The rig; ``again`` tells repetitions of the same run apart."""
    return run(
        build_rig(GROUP, Options(scenario=scenario, seed=seed, settings=list(settings))), seconds
    )


@experiment("Y-01")
def ticks() -> Finding:
    """Pen, law and robot; every recorded signal of two runs to the bit."""
    first, second = (teleoperated("free", 10.0, again=again) for again in (0, 1))
    calls = {part.calls for part in first.rig.session.parts}
    streams = {
        "leader": ("q", "v"),
        "coupling": ("error",),
        "follower": ("q", "v", "torque_commanded"),
    }
    same = all(
        np.array_equal(first.signal(stream, name), second.signal(stream, name), equal_nan=True)
        for stream, names in streams.items()
        for name in names
    )
    moved = float(np.ptp(first.signal("follower", "position_tool_in_world"), axis=0).max())
    called = ", ".join(map(str, sorted(calls)))
    note = f"in virtual time; every part was called {called} times; the tool moved {moved:.3f} m"
    return Finding(float(max(calls)), calls == {10_000} and same and moved > 0.05, note)


@experiment("Y-54")
def operators() -> Finding:
    """The pen is shaken by random forces while one model at a time holds it; energy that the model has taken up."""
    hand = shaken(
        ImpedanceHand(
            stiffness=200.0, damping=5.0, rotational_stiffness=1.0, rotational_damping=0.05
        ),
        1.0,
    )
    wall = shaken(Wall(point=np.array([0.005, 0.0, 0.0]), stiffness=24_200.0, damping=100.0), 0.0)
    spring = shaken(GroundSpring(stiffness=500.0, damping=2.0), 0.0)
    varying = shaken(_Breathing(), 0.0)
    given, bound = interactive()
    least = 1e3 * min(float(taken.min()) for taken in (hand, wall, spring))
    ok = least >= -1e-6 and bound <= 10.0 + 1e-9 and given > 0.0 and float(varying.min()) < -1e-3
    note = (
        f"least energy ever taken up by the passive hand, a wall and a spring; taken up in the end "
        f"{1e3 * hand[-1]:.1f}, {1e3 * wall[-1]:.1f}, {1e3 * spring[-1]:.1f} mJ; a spring whose stiffness varies gives "
        f"{-1e3 * varying.min():.0f} mJ; an operator who pushes gives {1e3 * given:.0f} mJ with {bound:.1f} N or less"
    )
    return Finding(least, bool(ok), note)


class _Breathing(GroundSpring):
    """A spring that is stiffer on the way back than on the way out: an environment that gives energy."""

    def push(self, tool, t: float, wrench: Array) -> None:
        self.stiffness = 500.0 * (1.0 + 0.05 * np.sign(float(self.stretch @ tool.twist[:3])))
        super().push(tool, t, wrench)


def shaken(touch: Touch, mass: float) -> Array:
    """Energy that a touch has taken up over 4 s of random forces on the pen, n, [J].

    Args:
        touch: what holds the pen.
        mass: of the hand that comes with it, [kg].
    """
    rng = generator("shaking")
    world = World(
        {
            "pen": Placed(
                load_robot("omega6").edited(set_armature(np.repeat([mass, 2e-3 * mass], 3)))
            )
        }
    )
    plant, command = HapticPlant(world, "pen"), JointTorque(6)
    world.touch("pen", "held", touch)
    taken, force = np.zeros(4000), np.zeros(3)
    for tick in range(4000):
        if tick % 100 == 0:
            force = rng.normal(size=3) * 2.0 - 40.0 * plant.port.q[:3]
        command.value[:3] = force
        plant.write(command, tick * MS)
        plant.read((tick + 1) * MS)
        taken[tick] = -world.ports["pen"].work["held"]
    return taken


def interactive() -> tuple[float, float]:
    """Energy [J] that an operator of given force pulses puts into the pen, and the largest force [N]."""
    pulses = [
        ForcePulse(0.5 * k, 0.4, (10.0 * (-1) ** k, 0.0, 0.0, 0.0, 0.0, 0.0)) for k in range(6)
    ]
    world = World({"pen": Placed(load_robot("omega6"))})
    plant, command, largest = HapticPlant(world, "pen"), JointTorque(6), 0.0
    world.touch("pen", "hand", ForceHand(pulses=pulses))
    for tick in range(3000):
        command.value[:3] = -20.0 * plant.port.v[:3] - 100.0 * plant.port.q[:3]
        plant.write(command, tick * MS)
        plant.read((tick + 1) * MS)
        largest = max(largest, float(np.linalg.norm(world.ports["pen"].wrench[:3])))
    return world.ports["pen"].work["hand"], largest


@experiment("Y-56")
def hard_contact() -> Finding:
    """The pen goes into the wall in steps; what it feels at rest against how far its setpoint is beyond the surface."""
    beyond, felt, before, moving = pressed()
    slope = float(np.polyfit(beyond, felt, 1)[0])
    ideal = KT * 24_200.0 / (KF * (KT + 24_200.0))
    note = (
        f"ideal kt Ze/(kf (kt + Ze)) = {ideal:.2f} N/m; at rest, since the list asks for quasi-static: largest "
        "force before "
        f"the wall {before:.3f} N, on the way there at up to 18 mm/s {moving:.2f} N (the tool lags); a finger calls "
        f"24 200 N/m rigid, this is {100 * slope / 24_200.0:.2f} % of it; {felt[-1]:.2f} N at {1e3 * beyond[-1]:.0f} mm"
    )
    ok = (
        abs(slope / 68.0 - 1.0) <= 0.01
        and before <= 0.05
        and abs(felt[-1] / beyond[-1] / 68.0 - 1.0) <= 0.02
    )
    figures = (Figure("Into a hard wall", lambda: _contact_plot(beyond, felt, ideal)),)
    return Finding(slope, bool(ok), note, figures=figures)


@shared
def pressed() -> tuple[Array, Array, float, float]:
    """Setpoint beyond the wall [m] and force on the pen [N] at each rest; largest before the wall, still and moving."""
    result = teleoperated("wall-steps", 9.5)
    t = result.times("leader")
    pen = result.signal("leader", "position_tool_in_world")[:, 0]
    force = result.signal("leader", "wrench_commanded_in_world")[:, 0]
    rests = [(t > end - 0.1) & (t < end) for end in (4.0, 5.5, 7.0, 8.5)]
    beyond = np.array([-float(pen[rest].mean()) - AHEAD for rest in rests])
    early = np.abs(force[(t > 2.0) & (t < 2.5)])
    moving = np.abs(force[(t > 0.3) & (t < 2.0)])
    return (
        beyond,
        np.array([float(force[rest].mean()) for rest in rests]),
        float(early.max()),
        float(moving.max()),
    )


def _contact_plot(beyond: Array, felt: Array, ideal: float):
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(6.5, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(1e3 * beyond, felt, "o", label="felt")
    axes.plot(1e3 * beyond, ideal * beyond, ":", label=f"{ideal:.1f} N/m")
    axes.set(
        xlabel="setpoint beyond the wall [mm]",
        ylabel="force on the pen [N]",
        title="Softer than any hard wall",
    )
    axes.legend(fontsize=8)
    return figure


@experiment("Y-58")
def bench() -> Finding:
    """The controller is one spring with its setpoint at the origin; pen in, force out, through both maps."""
    spring = GeometricSpring(KT, 30.0)
    left, signs = [], True
    for axis in range(3):
        for side in (-0.05, 0.05):
            track, first = released(spring, side * np.eye(3)[axis])
            left.append(float(np.linalg.norm(track[-1])))
            pull = -side / abs(side) * np.eye(3)[axis]
            signs = signs and bool(np.allclose(first, KT / KF * 0.05 * pull, atol=1e-9))
    rest = float(np.abs(_force(spring, np.zeros(3))).max())
    worst = 1e3 * max(left)
    note = f"70 N/m at the pen on every axis and side; force at the origin {rest:g} N; six releases of 8 s each"
    return Finding(worst, worst < 1.0 and signs and rest == 0.0, note)


def _force(spring: GeometricSpring, pen: Array) -> Array:
    """What the bridge shows at a pen position: to robot axes, spring to the origin, back and down."""
    wrench = spring.wrench(np.zeros(3), np.eye(3), PEN.forward(pen), np.eye(3))
    return PEN.back(wrench[:3]) / KF


def released(spring: GeometricSpring, start: Array) -> tuple[Array, Array]:
    """Track of a pen let go at ``start`` [m] and the first force [N]."""
    world = World({"pen": Placed(load_robot("omega6"), q=np.array([*start, 0.0, 0.0, 0.0]))})
    plant, command = HapticPlant(world, "pen"), JointTorque(6)
    track, first = np.zeros((8000, 3)), _force(spring, start)
    for tick in range(8000):
        command.value[:3] = _force(spring, plant.read(tick * MS).q[:3])
        plant.write(command, tick * MS)
        track[tick] = plant.port.q[:3]
    return track, first
