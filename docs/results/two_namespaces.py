"""A leader and a follower in two namespaces of one machine, with a bad network between them.

Run as root on Linux with iproute2::

    python docs/results/two_namespaces.py --delay 50 --jitter 20 --loss 5 --layer tdpa --out results

``tc netem`` makes the network bad where the kernel has it; where it has not, a process in a third
namespace does: every datagram passes through it and is delayed, lost and reordered by the emulated
network that ``farhand run`` uses. The follower meets a wall; the hand presses on. Prints the
metrics of both sides, and whether the contact is stable. The rule, fixed before the first run: the
follower does not trip and stays coupled, and over the last half second in contact the force at the
follower moves by less than 10 % of its mean while its joints move at less than 0.02 rad/s.
"""

from __future__ import annotations

import argparse
import json
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from farhand.link.network import Conditions, EmulatedNetwork
from farhand.link.seal import write_key

PORT = 7400
MS = 1_000_000  # [ns]


def ip(*words: str, check: bool = True) -> subprocess.CompletedProcess:
    """Call iproute2."""
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def relay(listen: str, target: str, conditions: Conditions) -> None:
    """Pass datagrams both ways through an emulated network, until killed."""
    front, back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    front.bind((listen, PORT))
    place = target, PORT
    forward, backward = (
        EmulatedNetwork(rng, conditions) for rng in np.random.default_rng(1).spawn(2)
    )
    leader = None
    while True:
        ready, _, _ = select.select([front, back], [], [], 5e-4)
        now_ns = time.monotonic_ns()
        if front in ready:
            data, leader = front.recvfrom(65_535)
            forward.send(now_ns, data)
        if back in ready:
            backward.send(now_ns, back.recv(65_535))
        for data in forward.receive(now_ns):
            back.sendto(data, place)
        for data in backward.receive(now_ns):
            front.sendto(data, leader)


def cable(a: str, b: str, number: int) -> tuple[str, str]:
    """A virtual cable between two namespaces; the addresses of its ends."""
    ip(
        "-n",
        a,
        "link",
        "add",
        f"v{number}a",
        "type",
        "veth",
        "peer",
        "name",
        f"v{number}b",
        "netns",
        b,
    )
    places = f"10.77.{number}.1", f"10.77.{number}.2"
    for space, place, name in ((a, places[0], f"v{number}a"), (b, places[1], f"v{number}b")):
        ip("-n", space, "address", "add", f"{place}/24", "dev", name)
        ip("-n", space, "link", "set", name, "up")
    return places


def spoil(space: str, device: str, args: argparse.Namespace) -> bool:
    """Have the kernel make a cable bad; whether it can."""
    words = [
        "netem",
        "limit",
        "10000",
        "delay",
        f"{args.delay}ms",
        f"{args.jitter}ms",
        "loss",
        f"{args.loss}%",
    ]
    done = subprocess.run(
        ["ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", device, "root", *words],
        capture_output=True,
    )
    return done.returncode == 0


def network(stack: ExitStack, args: argparse.Namespace) -> tuple[str, str]:
    """Lay the network: where the leader connects to, and how it is made bad, in words."""
    for space in ("fh-leader", "fh-middle", "fh-follower"):
        ip("netns", "del", space, check=False)
        ip("netns", "add", space)
        stack.callback(ip, "netns", "del", space, check=False)
    direct = cable("fh-leader", "fh-follower", 1)
    if spoil("fh-leader", "v1a", args) and spoil("fh-follower", "v1b", args):
        return direct[1], "tc netem at both ends"
    near, far = cable("fh-leader", "fh-middle", 2), cable("fh-middle", "fh-follower", 3)
    words = [str(value) for value in (args.delay, args.jitter, args.loss)]
    between = [sys.executable, __file__, "--relay", near[1], far[1]]
    between += ["--delay", words[0], "--jitter", words[1], "--loss", words[2]]
    process = subprocess.Popen(["ip", "netns", "exec", "fh-middle", "chrt", "-f", "70", *between])
    stack.callback(process.wait)
    stack.callback(process.kill)
    return near[1], "this kernel has no netem: a relay process in a third namespace"


def side(
    space: str, name: str, args: argparse.Namespace, folder: Path, *words: str
) -> subprocess.Popen:
    """Start one side in its namespace."""
    command = [
        "ip",
        "netns",
        "exec",
        space,
        sys.executable,
        "-m",
        "farhand",
        name,
        "dual-arm",
        "--headless",
    ]
    command += [
        "--key",
        str(folder / "key"),
        "--law",
        args.law,
        "--layer",
        args.layer,
        "--scenario",
        "press",
    ]
    command += ["--json", str(folder / f"{name}.json"), *words]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def run(args: argparse.Namespace) -> dict[str, dict]:
    """Run both sides; the result of each."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_key(folder / "key")
        place, how = network(stack, args)
        print(f"{args.delay} ms ± {args.jitter} ms, {args.loss} % lost, each way: {how}")
        follower = side("fh-follower", "follower", args, folder, "--listen", f"0.0.0.0:{PORT}")
        stack.callback(follower.kill)
        leader = side(
            "fh-leader", "leader", args, folder, "--connect", f"{place}:{PORT}", "--seconds", "11"
        )
        stack.callback(leader.kill)
        for line in leader.stderr:
            print(line, end="")
            if "coupled" in line:
                break
        time.sleep(9.0)
        follower.send_signal(signal.SIGINT)  # while the hand still presses
        for process in (follower, leader):
            print(process.communicate(timeout=60)[1], end="")
        return {
            name: json.loads((folder / f"{name}.json").read_text())
            for name in ("leader", "follower")
        }


def judge(results: dict[str, dict]) -> bool:
    """Print both sides, and whether the contact was stable by the rule above."""
    for name, result in results.items():
        metrics = {key: entry["value"] for key, entry in result["metrics"].items()}
        wanted = (
            "force_max",
            "force_final",
            "force_ripple",
            "speed_final",
            "coupled_share",
            "energy_into_coupling",
        )
        wanted += (
            "link_loss",
            "link_round_trip_rms",
            "link_age_mean",
            "link_age_max",
            "clock_offset",
        )
        shown = {key: value for key, value in metrics.items() if key.endswith(wanted)}
        print(
            name,
            ", ".join(f"{key} {value:.4g}" for key, value in shown.items() if value is not None),
        )
        print(" ", [trip["reason"] for trip in result["trips"]] or "no trips")
    metrics = results["follower"]["metrics"]
    force, ripple = (metrics[f"contact_force_{key}"]["value"] for key in ("final", "ripple"))
    speed = metrics["follower_speed_final"]["value"]
    stable = (
        not results["follower"]["trips"] and force > 5.0 and ripple < 0.1 * force and speed < 0.02
    )
    coupled = results["follower"]["metrics"]["coupled_share"]["value"]
    stable = stable and coupled > 0.5
    print("stable contact" if stable else "NOT stable", f"({force:.1f} N ± {ripple / 2:.2f} N)")
    return stable


def main() -> int:
    """Read the words, run, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("delay", 50.0), ("jitter", 20.0), ("loss", 5.0)):
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--law", default="position-force")
    parser.add_argument("--layer", default="tdpa")
    parser.add_argument("--out", type=Path, help="folder for the JSON results of both sides")
    parser.add_argument("--relay", nargs=2, metavar=("LISTEN", "TARGET"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.relay:
        relay(
            *args.relay,
            Conditions(
                round(args.delay * MS), round(args.jitter * MS), args.loss / 100, reorder=True
            ),
        )
    results = run(args)
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        for name, result in results.items():
            (args.out / f"{name}.json").write_text(
                json.dumps(result, indent=2, sort_keys=True) + "\n"
            )
    return 0 if judge(results) else 1


if __name__ == "__main__":
    sys.exit(main())
