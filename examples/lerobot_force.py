"""Does a policy that feels press better? ACT with and without forces, on a simulated SO-101.

The task: go ahead to a wall whose place differs by 20 mm from one time to the next, press with 3 N
and stay. A scripted operator shows it through the leader, faster or slower, and stops when she
feels the force. The same demonstrations become two datasets, with forces in the state and without.
ACT is trained on both, several times, and all policies press the same walls, which nobody has shown
them, through the plug-in for LeRobot.

It runs in LeRobot's environment (docs/lerobot.md), with ``farhand`` of another one on the path::

    python examples/lerobot_force.py --out force --demos 50 --steps 2000 --trainings 2 --trials 15

It prints how often each kind presses with 2 to 4 N in the last second, with an interval of 95 %,
and the largest force on the way. All waiting is in the session's time, because a busy computer
makes a simulation slower. What is in the folder already is not done again, so a run that was broken
off goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from farhand.client import Client, start
from farhand.lerobot_features import POSE, WRENCH

ARMS = ("pair", "--leader", "so101-leader", "--follower", "so101", "--scenario", "rest")
# however busy the computer is
ARMS = (*ARMS, "--set", "deadlines.storm=1000000")
WANTED_N = 3.0
GOOD_N = (2.0, 4.0)
FAR_M = (0.02, 0.04)
"""From the follower's tool to the wall."""

SPEED = (0.012, 0.025)
"""Of the operator's hand, [m/s]; it differs from one demonstration to the next."""

REACTION_S = (0.1, 0.25)
"""Of the operator, from a force to her hand; it differs as well."""

WANDER_M = 0.004
"""How far her hand strays to the sides and up, slowly."""

SQUEEZE = (0.0, 0.3)
"""How far her fingers close the gripper, of all the way. A number that never changes has no
deviation, and LeRobot would divide by nothing."""

BATCH = 10
"""Demonstrations in one recording."""

FPS = 30
SECONDS = 6.0
"""How long a policy may take."""

KINDS = {"with forces": "--forces", "without forces": "--no-forces"}
SMALL = (
    "--policy.type=act --policy.device=cpu --policy.push_to_hub=false --policy.chunk_size=30 "
    "--policy.n_action_steps=10 --policy.dim_model=128 --policy.n_heads=4 "
    "--policy.dim_feedforward=256 --policy.n_encoder_layers=2 --policy.n_vae_encoder_layers=2 "
    "--policy.optimizer_lr=3e-4 --batch_size=8 --num_workers=0 --log_freq=250"
)


class Frames:
    """Waits for one frame after the other, in the time of a session."""

    def __init__(self, session: Client) -> None:
        self.session, self.due = session, session.record("follower")[0]

    def wait(self) -> None:
        """Until the next one is due."""
        self.due += 1.0 / FPS
        while self.session.record("follower")[0] < self.due:
            time.sleep(0.002)


def force(session: Client) -> float:
    """What the wall pushes with, [N]."""
    return float(np.linalg.norm(session.latest("follower", "wrench_measured_in_world")[1][:3]))


def place_wall(session: Client, home: np.ndarray, rng: np.random.Generator) -> None:
    """Somewhere ahead of where the tool rests."""
    session.set("wall.normal", [-1.0, 0.0, 0.0])
    session.set("wall.point", home + [rng.uniform(*FAR_M), 0.0, 0.0])


def demonstrate(session: Client, home: np.ndarray, rng: np.random.Generator) -> None:
    """One demonstration: ahead until the force is felt, stay for a second; then both go home."""
    place_wall(session, home, rng)
    session.set("hand.open", False)
    session.command("engage")
    speed, drag, stay = rng.uniform(*SPEED), 0.0, 1.0
    felt = [0.0] * round(rng.uniform(*REACTION_S) * FPS)
    session.set("fingers.squeeze", rng.uniform(*SQUEEZE))
    strays = rng.uniform(0.0, 2.0 * np.pi, 2)
    middle = np.sin(strays)
    frames = Frames(session)
    while stay > 0.0 and drag < 0.15:
        felt = [*felt[1:], force(session)]
        # she slows down as the force comes near
        drag += max(0.0, speed * min(1.0, 1.5 * (1.0 - felt[0] / WANTED_N))) / FPS
        stay -= (felt[0] > 0.9 * WANTED_N) / FPS
        strays += rng.uniform(0.5, 1.5, 2) / FPS
        session.set("hand.drag", [drag, *(WANDER_M * (np.sin(strays) - middle))])
        frames.wait()
    # the end of an episode
    session.command("release")
    for _ in range(60):
        drag = max(0.0, drag - 0.1 / FPS)
        session.set("hand.drag", [drag, 0.0, 0.0])
        session.target(HOME)
        frames.wait()
    session.command("release")


HOME = (0.0, -0.35, 0.55, 0.7, 0.0, 0.5)
"""Of the SO-101, [rad]."""


def record(arguments: argparse.Namespace) -> None:
    """Demonstrations, and a dataset of each kind."""
    if all((arguments.out / f"data {kind}").exists() for kind in KINDS):
        return
    files = []
    for first in range(0, arguments.demos, BATCH):
        files.append(str(arguments.out / f"demonstrations {first}.mcap"))
        if Path(files[-1]).exists():
            continue
        (part := arguments.out / "part.mcap").unlink(missing_ok=True)
        rng, record = np.random.default_rng([arguments.seed, first]), ("--record", str(part))
        with start(*ARMS, *record, name="force", program=arguments.farhand) as session:
            home = session.latest("follower", "position_tool_in_world")[1]
            for number in range(first, min(first + BATCH, arguments.demos)):
                demonstrate(session, home, rng)
                print(f"demonstration {number + 1} of {arguments.demos}", flush=True)
        part.rename(files[-1])
    for kind, option in KINDS.items():
        words = ["export", *files, str(arguments.out / f"data {kind}"), "--format", "lerobot"]
        words += ["--fps", str(FPS), "--no-signals", option]
        subprocess.run([*arguments.farhand, *words], check=True)


def train(arguments: argparse.Namespace) -> None:
    """ACT on either dataset, by LeRobot's own command."""
    command = str(Path(sys.executable).with_name("lerobot-train"))
    for kind, seed in policies(arguments):
        folder = arguments.out / f"act {kind} {seed}"
        if (folder / "checkpoints" / "last").exists():
            continue
        # LeRobot writes into no folder that is there
        shutil.rmtree(folder, ignore_errors=True)
        own = ["--dataset.repo_id=farhand/force"]
        own += [f"--dataset.root={arguments.out / f'data {kind}'}", f"--seed={seed}"]
        own += [f"--output_dir={folder}"]
        own += [f"--steps={arguments.steps}", f"--save_freq={arguments.steps}", *SMALL.split()]
        subprocess.run([command, *own], check=True)


def policies(arguments: argparse.Namespace) -> list[tuple[str, int]]:
    """Kind and seed of every training."""
    seeds = range(arguments.seed, arguments.seed + arguments.trainings)
    return [(kind, seed) for seed in seeds for kind in KINDS]


def press(
    session: Client, arguments: argparse.Namespace, kind: str, seed: int
) -> list[tuple[float, float]]:
    """Force in the end and largest force of every trial of a policy, [N]."""
    import torch
    from lerobot.policies import make_pre_post_processors
    from lerobot.policies.act.modeling_act import ACTPolicy
    from lerobot_teleoperator_farhand import FarhandFollower, FarhandFollowerConfig

    folder = arguments.out / f"act {kind} {seed}"
    if (folder / "pressed.json").exists():
        return [tuple(one) for one in json.loads((folder / "pressed.json").read_text())]
    path = folder / "checkpoints" / "last" / "pretrained_model"
    policy = ACTPolicy.from_pretrained(path).eval()
    before, after = make_pre_post_processors(policy.config, pretrained_path=str(path))
    robot = FarhandFollower(FarhandFollowerConfig(session="force", forces=kind == "with forces"))
    robot.connect()
    names = list(robot.observation_features)
    tool = [name for name in names if name in POSE + WRENCH]
    # walls that were not in the demonstrations, the same for every policy
    rng = np.random.default_rng(arguments.seed + 1000)
    home, found = session.latest("follower", "position_tool_in_world")[1], []
    for number in range(arguments.trials):
        place_wall(session, home, rng)
        policy.reset()
        session.read("follower", "wrench_measured_in_world")
        ends, frames = [], Frames(session)
        for step in range(round(SECONDS * FPS)):
            seen = robot.get_observation()
            state = {"observation.state": names, "observation.environment_state": tool}
            batch = {
                key: torch.tensor([[seen[name] for name in of]], dtype=torch.float32)
                for key, of in state.items()
            }
            with torch.inference_mode():
                action = after(policy.select_action(before(batch)))[0].tolist()
            robot.send_action(dict(zip(robot.action_features, action, strict=True)))
            if step >= (SECONDS - 1.0) * FPS:
                ends.append(force(session))
            frames.wait()
        wrench = session.read("follower", "wrench_measured_in_world")[1]
        found.append((float(np.mean(ends)), float(np.linalg.norm(wrench[:, :3], axis=1).max())))
        end, most = found[-1]
        print(f"{kind}, seed {seed}, trial {number + 1}: {end:.2f} N, {most:.2f} N at most")
        for _ in range(60):
            session.target(HOME)
            frames.wait()
    robot.disconnect()
    (folder / "pressed.json").write_text(json.dumps(found))
    return found


def interval(good: int, count: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share."""
    z, p = 1.96, good / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return middle - half, middle + half


def main() -> None:
    """Record, train, press, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("force"))
    parser.add_argument("--demos", type=int, default=50)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--trainings", type=int, default=2, help="of each kind")
    parser.add_argument("--trials", type=int, default=15, help="of each policy")
    parser.add_argument("--seed", type=int, default=0, help="of demonstrations and first training")
    parser.add_argument("--farhand", nargs="+", default=["farhand"])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    took, results = {}, {kind: [] for kind in KINDS}
    for part in (record, train):
        begun = time.monotonic()
        part(arguments)
        took[part.__name__] = time.monotonic() - begun
    begun = time.monotonic()
    with start(*ARMS, name="force", program=arguments.farhand) as session:
        for kind, seed in policies(arguments):
            results[kind].append(press(session, arguments, kind, seed))
    took["press"] = time.monotonic() - begun
    print("| state | 2 to 4 N in the end | 95 % | of each training | largest force |")
    print("| --- | --- | --- | --- | --- |")
    for kind, found in results.items():
        good = [sum(GOOD_N[0] <= end <= GOOD_N[1] for end, _ in trials) for trials in found]
        count, most = arguments.trials * len(found), [peak for one in found for _, peak in one]
        low, high = interval(sum(good), count)
        row = f"{sum(good)} of {count} | {low:.0%} to {high:.0%} | {', '.join(map(str, good))}"
        print(f"| {kind} | {row} | median {np.median(most):.1f} N, worst {max(most):.1f} N |")
    content = {"arguments": vars(arguments), "results": results, "seconds": took}
    (arguments.out / "results.json").write_text(json.dumps(content, default=str, indent=1))
    print(", ".join(f"{name} {seconds:.0f} s" for name, seconds in took.items()))


if __name__ == "__main__":
    main()
