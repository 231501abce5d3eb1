"""Leader and follower in two processes over UDP, with the key that both must hold.

On two machines, give ``--listen 0.0.0.0:7400`` to the follower and its address to the leader.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FARHAND = (sys.executable, "-m", "farhand")
ADDRESS = "127.0.0.1:7455"
RUN = ("--scenario", "free", "--law", "position-position", "--headless")

with tempfile.TemporaryDirectory() as folder:
    key = str(Path(folder) / "link.key")
    subprocess.run([*FARHAND, "key", "--out", key], check=True)
    follower = subprocess.Popen(
        [*FARHAND, "follower", "dual-arm", "--listen", ADDRESS, "--key", key, *RUN]
    )
    leader = [*FARHAND, "leader", "dual-arm", "--connect", ADDRESS, "--key", key, *RUN]
    try:
        subprocess.run([*leader, "--seconds", "3"], check=True)
    finally:
        follower.terminate()
        follower.wait(30.0)
