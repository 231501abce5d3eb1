"""The table of pairs: arms alike and unlike, by their joints and by their tools.

``python -m farhand_lab.pairs`` runs every pair, prints a row for each and, with ``--write
docs/pair.md``, puts the table there.

A row: the demo of rig ``pair`` (16 s). *Off* is the largest distance between the follower's tool
and where the leader's state would put it, in the free moves before the wall. *Contact* and *felt*
are the largest force at the wall and what the hand feels while both stand still and press.
*Without friction* is what is felt when the joints' dry friction is taken out of the physics, in the
scenario ``wall``: of coupled tools the force, of coupled joints the torque, because like torques
are unlike forces where levers differ. *Grip* is the share of
the object's push that the fingers feel in the scenario ``squeeze``. *Balance* is the error of the
energy balance of the demo, as a share of the energy exchanged.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from farhand.analysis.metrics import Metrics
from farhand.mapping.joint_map import JointMapping
from farhand.report.hints import hints
from farhand.report.numbers import number
from farhand.report.summary import result_of
from farhand.rigs import Options, Rig, build_rig
from farhand.running.run import RunOutcome

PAIRS = (
    ("so101-leader", "so101"),
    ("koch-leader", "koch"),
    ("openarm", "openarm"),
    ("vx300s", "vx300s"),
    ("panda", "fr3"),
    ("xarm7", "xarm7"),
    ("ur5e", "ur5e"),
    ("lwa4p", "lwa4p"),
    ("koch-leader", "so101"),
    ("so101-leader", "openarm"),
    ("so101-leader", "panda"),
    ("ur5e", "so101"),
    ("panda", "ur5e"),
    ("iiwa14", "lwa4p"),
    ("rx160", "ur5e"),
)
SPACES = ("joints", "tool")
PRESSED_S = (5.0, 5.5)
"""When the hand of the scenario ``wall`` has pressed for a second, [s]."""

FREE_S = 8.5
"""When the moves of the demo that touch nothing are over, [s]."""

HEAD = (
    "leader → follower",
    "coupled",
    "off, free [mm]",
    "contact [N]",
    "felt",
    "without friction",
    "grip felt",
    "balance",
    "trips and notes",
)
BEGIN, END = "<!-- pairs: begin -->", "<!-- pairs: end -->"


@dataclass
class Row:
    """What a pair showed."""

    arms: tuple[str, str]
    space: str
    off: float  #: in free space, [m]
    contact: float  #: [N]
    felt: float | None  #: share of the contact
    smooth: float | None  #: the same without dry friction
    grip: float | None  #: share of the grip; None without one
    balance: float  #: of the energy, [-]
    notes: list[str]

    def cells(self) -> tuple[str, ...]:
        """As text."""
        return (
            " → ".join(self.arms),
            self.space,
            number(1e3 * self.off),
            number(self.contact),
            _share(self.felt),
            _share(self.smooth),
            _share(self.grip),
            f"{self.balance:.0e}",
            "; ".join(self.notes) or "none",
        )


def measure(arms: tuple[str, str], space: str, law: str = "position-position") -> Row:
    """Run one pair."""
    demo = _run(arms, space, law, "demo")
    metrics = demo.metrics
    assert isinstance(metrics, Metrics)
    values = {name: value for name, (value, _) in metrics.values().items()}
    result = result_of(demo, RunOutcome(demo.scenario.seconds, 1.0, interrupted=False))
    notes = [f"{trip['where']} stopped: {trip['reason']}" for trip in result["trips"]]
    # what the column without friction shows need not be said again
    notes += [hint for hint in hints(demo, result) if "felt, not" not in hint]
    off = _off(demo, metrics)
    demo.close()
    smooth = _run(arms, space, law, "wall", friction=False)
    without = felt_effort(smooth)
    smooth.close()
    grip = None
    if "grip_reflection" in values:
        squeeze = _run(arms, space, law, "squeeze")
        grip = squeeze.metrics.values()["grip_reflection"][0]
        squeeze.close()
    contact, balance = values["contact_force_max"], values["energy_balance_error"]
    felt = values["reflection_in_contact"]
    return Row(arms, space, off, contact or 0.0, felt, without, grip, balance or 0.0, notes)


def felt_effort(rig: Rig) -> float | None:
    """What the hand feels of the contact while both arms stand still, of what is coupled, [-]."""
    metrics, history = rig.metrics, rig.metrics.history
    mapping = rig.session.bridges[0].laws[0].mapping
    if not isinstance(mapping, JointMapping):
        share, _ = metrics.values()["reflection_in_contact"]
        return share
    times = history.times("follower")
    wall = np.linalg.norm(history.signal("follower", "wrench_measured_in_world")[:, :3], axis=1)
    pressing = (times > PRESSED_S[0]) & (times < PRESSED_S[1]) & (wall > 0.0)
    if not pressing.any():
        return None
    felt = history.signal("leader", "torque_external")[pressing]
    whole = history.signal("follower", "torque_external")[pressing] @ mapping.matrix
    return float(np.median(np.linalg.norm(felt, axis=1) / np.linalg.norm(whole, axis=1)))


def _run(arms: tuple[str, str], space: str, law: str, scenario: str, friction: bool = True) -> Rig:
    """A rig after a scenario."""
    settings: list[tuple[str, object]] = [
        ("rig.leader_plant", arms[0]),
        ("rig.follower_plant", arms[1]),
        ("rig.space", space),
    ]
    rig = build_rig("pair", Options(law, scenario=scenario, settings=settings))
    if not friction:
        rig.world.model.dof_frictionloss[:] = 0.0
    rig.session.run(rig.scenario.seconds, rig.metrics.pull)
    return rig


def _off(rig: Rig, metrics: Metrics) -> float:
    """Largest distance of the follower's tool from its goal in the free moves, [m]."""
    history, [follower] = (
        metrics.history,
        [station for station in rig.session.stations if station.name == "follower"],
    )
    free = history.times("coupling") < FREE_S
    error = history.signal("coupling", "error")[free]
    if not metrics.joints:
        return float(np.linalg.norm(error[:, :3], axis=1).max())
    q = history.signal("follower", "q")[: len(free)][free]
    return float(metrics.tool_errors(follower.arm, q, error).max())


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = [HEAD, ("---",) * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write(path: Path, text: str) -> None:
    """Put a table between the marks of a page."""
    page = path.read_text()
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{path} has no {BEGIN} … {END}")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> None:
    """Run the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--law", default="position-position")
    parser.add_argument("--only", default="", help="pairs that have this in a name")
    parser.add_argument("--write", type=Path, help="page with the marks of the table")
    chosen = parser.parse_args()
    rows = []
    for arms in PAIRS:
        for space in SPACES if chosen.only in " ".join(arms) else ():
            rows.append(measure(arms, space, chosen.law))
            print(" | ".join(rows[-1].cells()), flush=True)
    if chosen.write is not None:
        write(chosen.write, table(rows))


if __name__ == "__main__":
    main()
