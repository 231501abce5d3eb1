"""Station: gravity carried, rest kept, limits obeyed, and only finite torque to the plant."""

from __future__ import annotations

import numpy as np
import pytest

from farhand.arm import Arm
from farhand.coupling import PositionPosition
from farhand.errors import BadValue, FarhandError, Mismatch
from farhand.loop.bridges.direct import DirectBridge
from farhand.loop.session import Session
from farhand.loop.station import MODES, Station, driven_axes
from farhand.loop.telemetry import Reader
from farhand.plants import JointTorque, SimulatedPlant
from farhand.plants.plant import Command
from farhand.plants.wrappers.wrapped import WrappedPlant
from farhand.rigs import Options, build_rig
from farhand.robots import Placement, load_robot
from farhand.robots.edits import scale_mass
from farhand.safety import Guard
from farhand.sensing.observer import MomentumObserver
from farhand.world import ForceHand, ForcePulse, Placed, World

UR5E, POINT3 = load_robot("ur5e"), load_robot("point3")
PUSH = (0.0, 0.0, -20.0, 0.0, 0.0, 0.0)
PEN_UNITS = ["m, rad", "m/s, rad/s", "N, N·m"]


@pytest.fixture
def station_in_world():
    """Build one station in a session of its own: ``(session, station, world)``."""
    sessions = []

    def build(rest: str = "hold", push=None, hand_from: float = 0.0):
        world = World({"arm": Placed(UR5E)})
        if push is not None:
            world.touch("arm", "hand", ForceHand(pulses=[ForcePulse(hand_from, 0.4, push)]))
        station = Station.of(world, "arm", "follower", rest)
        session = Session([station], worlds=[world])
        sessions.append(session)
        return session, station, world

    yield build
    for session in sessions:
        session.close()


def mode(session: Session) -> str:
    """What the station last said it is doing."""
    return MODES[int(Reader(session.telemetry.path).latest("arm")[1]["mode"][0])]


def test_a_station_that_holds_gives_way_to_a_push_and_comes_back(station_in_world):
    """A bounded spring, not a wall: after the push the arm returns to where it was."""
    session, _, world = station_in_world("hold", PUSH)
    session.run(0.2)
    away = np.abs(world.ports["arm"].q - UR5E.home).max()
    session.run(1.5)
    assert 1e-4 < away < 0.02
    assert np.abs(world.ports["arm"].q - UR5E.home).max() < 1e-5
    assert mode(session) == "hold"


def test_a_sample_that_is_too_old_trips_though_its_values_are_good(station_in_world, monkeypatch):
    """Up to the guard's limit it is taken over; a nanosecond later it is not."""
    _, station, _ = station_in_world()
    sample = station.plant.read(0)
    monkeypatch.setattr(station.plant, "read", lambda now_ns: sample)
    for late in (0, 1):
        station.sense(sample.time_ns + station.guard.stale_ns + late)
        assert station.valid == (late == 0)
    assert station.guard.trip is not None and station.guard.trip.kind == "stale"


def test_what_a_machine_measures_from_outside_takes_the_place_of_an_observers_estimate():
    """As joint torque, and as the wrench at the tool that explains it."""
    world = World({"arm": Placed(UR5E)})
    arm, guard = Arm.of(UR5E), Guard()
    guard.watch(UR5E.limits)
    plant, push = SimulatedPlant(world, "arm"), np.array(PUSH)
    station = Station("arm", "follower", plant, arm, guard, observer=MomentumObserver(arm))
    station.couple_joints()
    station.sense(0)
    np.testing.assert_array_equal(station.side.torque, 0.0)
    plant.external = arm.J.T @ push
    station.sense(0)
    np.testing.assert_array_equal(station.side.torque, plant.external)
    np.testing.assert_allclose(station.side.wrench, push, atol=0.01)


def test_a_free_station_carries_its_weight_and_lets_itself_be_moved(station_in_world):
    """Untouched it stays; pushed it goes, and does not come back."""
    session, _, world = station_in_world("free", PUSH, hand_from=0.5)
    session.run(0.5)
    assert np.abs(world.ports["arm"].q - UR5E.home).max() < 1e-9
    session.run(0.5)
    assert np.abs(world.ports["arm"].q - UR5E.home).max() > 0.05
    assert mode(session) == "free"


def test_a_tripped_station_holds_even_if_it_rests_free(station_in_world):
    """A trip means still, whatever the rest; the arm slows down and stays under a push."""
    session, station, world = station_in_world("free", PUSH)
    session.run(0.3)
    assert np.abs(world.ports["arm"].v).max() > 0.05
    station.guard.stop(session.now_ns, "stop", "a test")
    session.run(1.5)
    assert np.abs(world.ports["arm"].v).max() < 1e-4
    assert mode(session) == "tripped"


def test_the_wrench_asked_for_reaches_the_arm_as_joint_torque(station_in_world):
    """τ = Jᵀ w + g(q), for any number of couplings together."""
    session, station, world = station_in_world("free")
    for wrench in ((5.0, 0, 0, 0, 0, 0), (0, 3.0, 0, 0, 0, 0.4)):
        contribution = station.join()
        contribution.wrench[:] = wrench
        contribution.gain = 1.0
    session.run(0.001)
    arm = Arm.of(UR5E)
    arm.update(UR5E.home, np.zeros(6))
    np.testing.assert_allclose(
        world.ports["arm"].torque, arm.J.T @ (5.0, 3.0, 0, 0, 0, 0.4) + arm.gravity, atol=1e-9
    )


@pytest.mark.parametrize(("gains", "expected"), [((0.0, 0.0), "free"), ((0.0, 0.4), "coupled")])
def test_a_station_is_coupled_while_any_of_its_couplings_is(station_in_world, gains, expected):
    """The largest gain counts, and the last target."""
    session, station, _ = station_in_world("free")
    for gain in gains:
        station.join().gain = gain
    station.join()
    session.run(0.002)
    assert mode(session) == expected


def test_what_a_station_publishes_is_the_state_of_its_arm_and_the_age_of_its_sample(
    station_in_world,
):
    """Named and as wide as it is; a plant whose samples are 3 ms old says so."""
    session, station, world = station_in_world("free", PUSH)
    read = station.plant.read

    def late(now_ns: int):
        sample = read(now_ns)
        sample.time_ns = now_ns - 3_000_000
        return sample

    station.plant.read = late
    session.run(0.05)
    reader, arm, port = Reader(session.telemetry.path), Arm.of(UR5E), world.ports["arm"]
    arm.update(port.q, port.v)
    _, said = reader.latest("arm")
    np.testing.assert_allclose(said["q"], port.q, atol=1e-12)
    np.testing.assert_allclose(said["v"], port.v, atol=1e-12)
    np.testing.assert_allclose(said["position_tool_in_world"], arm.position, atol=1e-12)
    np.testing.assert_allclose(said["rotation_tool_in_world"], arm.rotation.T.ravel(), atol=1e-12)
    np.testing.assert_allclose(said["twist_tool_in_world"], arm.twist, atol=1e-12)
    assert np.abs(arm.twist).max() > 1e-3
    assert said["sample_age"].tolist() == [3e6]
    assert station.side.age == pytest.approx(3e-3)
    sizes = {name: len(values) for name, values in said.items()}
    wide = dict.fromkeys(("wrench_measured_in_world", "wrench_commanded_in_world"), 6)
    assert sizes | wide | {"mode": 1} == sizes
    stream = reader.header["streams"]["arm"]
    labels = {channel["name"]: channel["labels"] for channel in stream["channels"]}
    assert labels["q"] == labels["v"] == list(arm.model.names)[1:]
    assert stream["rate"] == 1000.0


def test_a_sample_that_is_unfit_leaves_the_last_good_state_and_no_wrench(station_in_world):
    """The wrench in it is not believed either, though it is a number."""
    session, station, _ = station_in_world("free")
    read = station.plant.read

    def broken(now_ns: int):
        sample = read(now_ns)
        sample.set_wrench(np.ones(6))
        if now_ns >= 5_000_000:
            sample.q[2] = np.nan
        return sample

    station.plant.read = broken
    session.run(0.005)
    assert station.valid
    np.testing.assert_array_equal(station.side.wrench, 1.0)
    session.run(0.005)
    assert not station.valid and station.side.wrench is None
    np.testing.assert_allclose(station.arm.q, UR5E.home, atol=1e-6)


def test_an_arm_that_stands_elsewhere_than_its_plant_is_told_from_an_error_of_its_model():
    """4 cm may be a model that is not exact, 6 cm are another place; the arm keeps its state."""
    world = World({"arm": Placed(UR5E)})
    for shift, fits in ((0.04, True), (0.06, False)):
        arm = Arm.of(UR5E, Placement((shift, 0.0, 0.0)))
        q, v = np.arange(6.0), np.arange(6.0, 12.0)
        arm.update(q, v)
        try:
            Station("arm", "leader", SimulatedPlant(world, "arm"), arm, Guard())
        except Mismatch:
            assert not fits
        else:
            assert fits
        np.testing.assert_array_equal(arm.q, q)
        np.testing.assert_array_equal(arm.v, v)


@pytest.mark.parametrize(
    ("robot", "passive", "expected"),
    [
        ("ur5e", None, "111111"),
        # it turns the tool about its own axis, through the tool point
        ("ur5e", 5, "111000"),
        # the elbow, whose axis stays horizontal
        ("ur5e", 2, "000001"),
        ("point3", None, "111111"),
        ("point3", 1, "101000"),
    ],
)
def test_an_axis_along_which_a_passive_joint_gives_way_is_not_driven(robot, passive, expected):
    """In any posture; the arm keeps the one it had."""
    arm = Arm.of(load_robot(robot))
    q, v = np.linspace(0.1, 0.9, arm.nv), np.linspace(0.5, 1.0, arm.nv)
    arm.update(q, v)
    actuated = np.ones(arm.nv, dtype=bool)
    if passive is not None:
        actuated[passive] = False
    driven = driven_axes(arm, actuated)
    assert "".join(str(int(axis)) for axis in driven) == expected
    np.testing.assert_array_equal(arm.q, q)
    np.testing.assert_array_equal(arm.v, v)


def test_a_wrench_that_is_not_a_number_never_reaches_the_plant(station_in_world):
    """The station trips, and commands the weight of the arm instead."""
    session, station, world = station_in_world("free")
    contribution = station.join()
    contribution.wrench[:] = np.nan
    contribution.gain = 1.0
    session.run(0.005)
    arm = Arm.of(UR5E)
    arm.update(UR5E.home, np.zeros(6))
    np.testing.assert_allclose(world.ports["arm"].torque, arm.gravity, atol=1e-6)
    assert station.guard.trip.kind == "invalid"


def test_torque_stays_within_the_robots_limits(station_in_world):
    """However hard a coupling pulls."""
    session, station, world = station_in_world("free")
    contribution = station.join()
    contribution.wrench[:3], contribution.gain = 5000.0, 1.0
    session.run(0.002)
    assert (np.abs(world.ports["arm"].torque) <= UR5E.limits.torque + 1e-12).all()
    assert station.guard.clipped > 0


def test_a_plant_that_takes_no_torque_is_refused_by_name():
    """The message says what it accepts."""

    class JointPosition(Command):
        name = "joint position"

    world = World({"arm": Placed(UR5E)})
    plant = SimulatedPlant(world, "arm")
    plant.accepts = frozenset({JointPosition})
    with pytest.raises(
        Mismatch, match="station 'arm' commands joint torque, but its plant accepts joint position"
    ):
        Station("arm", "leader", plant, Arm.of(UR5E), Guard())


def test_an_object_that_does_not_inherit_from_plant_is_refused():
    """With the base class to inherit from."""
    with pytest.raises(Mismatch, match=r"object.*farhand\.plants\.Plant"):
        Station("arm", "leader", object(), Arm.of(UR5E), Guard())


def test_a_station_whose_model_is_wrong_sags_by_what_it_does_not_know(station_in_world):
    """The controller's model and the plant's are two objects: half a kilo too much is felt as M ω²
    δq = Δg.
    """
    world = World({"arm": Placed(UR5E.edited(scale_mass(1.05)))})
    arm, guard = Arm.of(UR5E), Guard()
    guard.watch(UR5E.limits)
    station = Station("arm", "follower", SimulatedPlant(world, "arm"), arm, guard)
    session = Session([station], worlds=[world])
    session.run(2.0)
    session.close()
    model = Arm.of(UR5E)
    model.update(UR5E.home, np.zeros(6))
    expected = (
        -np.linalg.solve(model.M, 0.05 * model.gravity) / station.controller.still.bandwidth**2
    )
    np.testing.assert_allclose(
        world.ports["arm"].q - UR5E.home, expected, atol=0.15 * np.abs(expected).max()
    )


def test_commands_are_joint_torques(station_in_world):
    """The type a plant checks."""
    session, station, _ = station_in_world("hold")
    seen = []
    inner = station.plant.write
    station.plant.write = lambda command, now_ns: (
        seen.append(type(command)),
        inner(command, now_ns),
    )
    session.run(0.003)
    assert set(seen) == {JointTorque}


@pytest.mark.parametrize(
    ("scenario", "side", "units"),
    [
        ("drive", "follower", ["m ×2, rad ×6", "m/s ×2, rad/s ×6", "N ×2, N·m ×6"]),
        ("drive", "leader", PEN_UNITS),
    ],
)
def test_slides_are_recorded_in_metres_and_newtons(scenario, side, units):
    """A pen has three slides and three hinges, a driven base two slides; the names of the signals
    stay.
    """
    rig = build_rig("youbot", Options(scenario=scenario))
    described = Reader(rig.session.telemetry.path).header["streams"][side]["channels"]
    rig.close()
    said = {channel["name"]: channel["unit"] for channel in described}
    assert [said[name] for name in ("q", "v", "torque_commanded")] == units


class Breaking(WrappedPlant):
    """A user's plant whose cable comes loose in the tick 50, for 30 ticks."""

    def __init__(self, plant: SimulatedPlant, method: str, answer: object = None) -> None:
        super().__init__(plant)
        self.method, self.answer, self.calls = method, answer, 0

    def _pass(self, method: str, *arguments):
        self.calls += method == self.method
        if method == self.method and 50 < self.calls <= 80:
            if self.answer is not None:
                return self.answer
            raise OSError("loose cable")
        return getattr(self._plant, method)(*arguments)

    def read(self, now_ns: int):
        return self._pass("read", now_ns)

    def write(self, command: Command, now_ns: int) -> None:
        self._pass("write", command, now_ns)


@pytest.mark.parametrize(
    ("method", "answer", "said"),
    [
        ("read", None, "OSError: loose cable"),
        ("write", None, "OSError: loose cable"),
        ("read", "sample", "time_ns"),
    ],
)
def test_a_plant_that_raises_stops_its_station_and_the_other_one_goes_on(method, answer, said):
    """With the reason; the run goes to its end, both arms come to rest, and a reset brings the
    station back.
    """
    world = World(
        {"one": Placed(POINT3), "two": Placed(POINT3, Placement((0.3, 0.0, 0.0)))}, gravity=0.0
    )
    stations = [
        Station.of(world, name, role, gravity=0.0)
        for name, role in (("one", "leader"), ("two", "follower"))
    ]
    stations[1].plant = Breaking(stations[1].plant, method, answer)
    session = Session(
        stations, bridges=[DirectBridge(PositionPosition(), *stations)], worlds=[world]
    )
    session.commands.post("engage")
    session.commands.post("reset", at_ns=200_000_000)
    session.run(0.15)
    assert [record.where for record in session.trips] == ["two"]
    assert session.trips[0].trip.kind == "invalid" and said in session.trips[0].trip.reason
    assert stations[0].guard.trip is None and session.bridges[0].engagement.wanted is False
    session.run(0.15)
    assert len(session.trips) == 1 and stations[1].guard.trip is None and stations[1].valid
    session.close()


@pytest.mark.parametrize("period_ns", [0, -1])
def test_a_period_that_is_not_positive_is_refused(period_ns):
    """In one line, for a station and for a bridge; it used to be a division by zero, or a loop
    without end.
    """
    world = World(
        {"one": Placed(POINT3), "two": Placed(POINT3, Placement((0.3, 0.0, 0.0)))}, gravity=0.0
    )
    stations = [
        Station.of(world, name, role, gravity=0.0)
        for name, role in (("one", "leader"), ("two", "follower"))
    ]
    with pytest.raises(BadValue, match="positive"):
        Station("one", "leader", stations[0].plant, stations[0].arm, Guard(), period_ns=period_ns)
    with pytest.raises(BadValue, match="positive"):
        DirectBridge(PositionPosition(), *stations, period_ns=period_ns)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda world: Station.of(world, "leeder", "leader"), "did you mean 'leader'"),
        (lambda world: SimulatedPlant(world, "leeder"), "did you mean 'leader'"),
        (lambda world: Station.of(world, "leader", "leding"), "role of station 'leader' 'leding'"),
        (lambda world: Station.of(world, "leader", "leader", rest="fre"), "did you mean 'free'"),
        (
            lambda world: Station(
                "leader", "leader", SimulatedPlant(world, "leader"), Arm.of(UR5E), Guard()
            ),
            "0.75 m from where its plant has it; give Arm.of the placement",
        ),
        (
            lambda world: Station(
                "leader",
                "leader",
                SimulatedPlant(world, "leader"),
                Arm.of(load_robot("iiwa14")),
                Guard(),
            ),
            "the arm has 7 degrees of freedom, its plant 6",
        ),
        (lambda world: World({"arm": Placed(UR5E, q=np.zeros(5))}), "6 joint positions, not 5"),
    ],
)
def test_parts_that_do_not_fit_are_refused_in_one_line(make, words):
    """Not accepted, and not with a KeyError or a shape of NumPy's."""
    world = World({"leader": Placed(UR5E, Placement((0.0, 0.75, 0.0)))})
    with pytest.raises(FarhandError) as caught:
        make(world)
    assert words in str(caught.value) and "\n" not in str(caught.value)
