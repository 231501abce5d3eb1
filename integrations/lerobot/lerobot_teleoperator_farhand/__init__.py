"""LeRobot's robot ``farhand_follower``, teleoperator ``farhand_leader`` and camera ``farhand``.

All of them are handles on a session of ``farhand serve``, which runs the bilateral loop in a
process of its own: LeRobot may be slow, stall or end, and the two arms do not notice.
"""

from lerobot_teleoperator_farhand.camera import FarhandCamera
from lerobot_teleoperator_farhand.config import (
    FarhandCameraConfig,
    FarhandFollowerConfig,
    FarhandLeaderConfig,
)
from lerobot_teleoperator_farhand.follower import FarhandFollower
from lerobot_teleoperator_farhand.leader import FarhandLeader

__all__ = [
    "FarhandCamera",
    "FarhandCameraConfig",
    "FarhandFollower",
    "FarhandFollowerConfig",
    "FarhandLeader",
    "FarhandLeaderConfig",
]
