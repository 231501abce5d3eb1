"""franka-sim with a wall, a tip and a hand: run by the Python that has franka-sim.

The simulator itself is unchanged. Its model gets a wall in front of the arm and a ball at the
flange; a hand, a spring and damper in the physics' own step, pulls the ball. Lines on standard
input move the hand; each is answered by what is true, as JSON: ``hand X Y Z`` (from where the ball
started, in m), ``free``, ``look``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

import mujoco
import numpy as np
from franka_sim import FrankaSimServer, mujoco_franka_sim
from franka_sim.franka_protocol import ConnectStatus

STIFFNESS, DAMPING = 500.0, 60.0
"""Of the hand, [N/m] and [N·s/m]."""

SPEED = 0.1
"""With which the hand goes to where it is told to, [m/s]."""


def with_wall(wall: float | None) -> str:
    """The simulator's own model with a ball at the flange, and a wall so far ahead of it, [m]."""
    path = Path(mujoco_franka_sim.default_fr3_mjcf()).resolve()
    spec = mujoco.MjSpec.from_file(str(path))
    # the changed model is written to another folder than its meshes are in
    spec.meshdir = str(path.parent / spec.meshdir)
    prefix = mujoco_franka_sim.arm_prefix(spec)
    body, offset = spec.find_body(f"{prefix}link7"), [0.0, 0.0, 0.107]
    body.add_geom(
        name="tip",
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        size=[0.02, 0, 0],
        pos=offset,
        mass=0.0,
        contype=2,
        conaffinity=2,
    )
    if wall is not None:
        model = spec.copy().compile()
        data = mujoco.MjData(model)
        data.qpos[:7] = mujoco_franka_sim.ARM_INITIAL_Q
        mujoco.mj_forward(model, data)
        x = data.geom("tip").xpos[0] + 0.02 + wall
        spec.worldbody.add_geom(
            name="wall",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[0.05, 1.0, 1.0],
            pos=[x + 0.05, 0.0, 0.5],
            contype=2,
            conaffinity=2,
        )
    spec.compile()
    with tempfile.NamedTemporaryFile("w", suffix=".xml", delete=False) as file:
        file.write(spec.to_xml())
    return file.name


class Hand:
    """Pulls the ball, and keeps what happened."""

    def __init__(self, sim) -> None:
        self.sim, self.open, self.target = sim, True, np.zeros(3)
        self.goal, self.start = np.zeros(3), None
        self.kept: deque = deque(maxlen=2000)
        self._control, sim._apply_control = sim._apply_control, self.step

    def step(self) -> None:
        """One step of the physics: the simulator's own control, and the hand."""
        self._control()
        model, data = self.sim.model, self.sim.data
        ball = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "tip")
        body, place = model.geom_bodyid[ball], data.geom_xpos[ball]
        if self.start is None:
            self.start = place.copy()
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jacobian, None, place, body)
        speed, force = jacobian @ data.qvel, np.zeros(3)
        way = self.goal - self.target
        self.target += way * min(1.0, SPEED * self.sim.dt / max(np.linalg.norm(way), 1e-9))
        if not self.open:
            force = STIFFNESS * (self.start + self.target - place) - DAMPING * speed
            data.qfrc_applied[:] += jacobian.T @ force
        wall, one = np.zeros(3), np.zeros(6)
        for number in range(data.ncon):
            contact = data.contact[number]
            if ball in (contact.geom1, contact.geom2):
                mujoco.mj_contactForce(model, data, number, one)
                # the normal points from the first geom to the second
                sign = 1.0 if ball == contact.geom2 else -1.0
                wall += sign * contact.frame.reshape(3, 3).T @ one[:3]
        self.kept.append((place - self.start, force, wall, data.qvel[:7].copy(), data.time))

    def look(self, last: int = 200) -> dict:
        """Means of the last steps, and the largest change of the hand's force within 10 ms since
        the last look, at most 2 s ago.
        """
        every = list(self.kept)
        self.kept.clear()
        self.kept.extend(every[-last:])
        kept = every[-last:]
        pulls = np.array([row[1] for row in every])
        forces = pulls[-last:]
        step = np.abs(pulls[10:] - pulls[:-10]).max() if len(every) > 10 else 0.0
        return {
            "place": np.mean([row[0] for row in kept], axis=0).tolist(),
            "hand": forces.mean(axis=0).tolist(),
            "wall": np.mean([row[2] for row in kept], axis=0).tolist(),
            "speed": float(np.abs(kept[-1][3]).max()),
            "fastest": float(np.abs([row[3] for row in kept]).max()),
            "jump": float(step),
            "q": self.sim.data.qpos[:7].tolist(),
            "time": float(kept[-1][4]),
            "friction": self.sim.model.dof_frictionloss[:7].tolist(),
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("host")
    parser.add_argument("--wall", type=float)
    parser.add_argument("--gripper", action="store_true")
    parser.add_argument("--firmware", type=int, help="Refuse the client, with this version.")
    options = parser.parse_args()
    os.environ["FR3_MJCF"] = with_wall(options.wall)
    server = FrankaSimServer(host=options.host, enable_gripper=options.gripper)
    if options.firmware is not None:
        # the simulator itself takes any client
        answer, refusal = server.send_response, ConnectStatus.kIncompatibleLibraryVersion
        server.send_response = lambda socket, **more: answer(
            socket, **{**more, "status": refusal, "version": options.firmware}
        )
    serving = threading.Thread(target=server.start, daemon=True)
    serving.start()
    while getattr(server.physics_sim, "model", None) is None or not server.physics_sim.running:
        if not serving.is_alive():
            sys.exit("the simulator did not start")
        time.sleep(0.01)
    hand = Hand(server.physics_sim)
    time.sleep(0.3)
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "hand":
            if hand.open:
                # it takes the ball where it is
                hand.target = np.array(hand.look()["place"])
            hand.goal, hand.open = np.array(words[1:], dtype=float), False
        elif words[0] == "free":
            hand.open = True
        print(json.dumps(hand.look()), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
