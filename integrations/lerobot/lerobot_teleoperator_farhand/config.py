"""What a user may choose on LeRobot's command line."""

from __future__ import annotations

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots import RobotConfig
from lerobot.teleoperators import TeleoperatorConfig

from lerobot_teleoperator_farhand.session import STARTS, Start


@RobotConfig.register_subclass("farhand_follower")
@dataclass(kw_only=True)
class FarhandFollowerConfig(RobotConfig):
    """``--robot.type=farhand_follower``."""

    # Name of the session, as given to `farhand serve --name`.
    session: str = "lerobot"
    # Which of its stations; several pairs have names such as left-follower.
    station: str = "follower"
    # Start the session if none of that name runs, by these words of `farhand serve`, such as
    # "pair --leader so101-leader --follower so101". It then ends with LeRobot.
    start: str = ""
    # The program, where it is not on the path: the one in Farhand's own environment.
    program: str = ""
    # Whether torques and the wrench at the tool are part of the state.
    forces: bool = True
    # How long a session that is gone is waited for, [s].
    wait: float = 10.0
    cameras: dict[str, CameraConfig] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start:
            STARTS[self.session] = Start(self.start, self.program)


@TeleoperatorConfig.register_subclass("farhand_leader")
@dataclass(kw_only=True)
class FarhandLeaderConfig(TeleoperatorConfig):
    """``--teleop.type=farhand_leader``; it leads the follower of the same session."""

    # Name of the session.
    session: str = "lerobot"
    # Which follower it leads.
    station: str = "follower"
    # How long a session that is gone is waited for, [s].
    wait: float = 10.0


@CameraConfig.register_subclass("farhand")
@dataclass(kw_only=True)
class FarhandCameraConfig(CameraConfig):
    """``{"type": "farhand", "view": "overview", "width": 320, "height": 240, "fps": 30}``."""

    # Name of the session.
    session: str = "lerobot"
    # What it looks at: overview (all arms), follower, or tool (from behind it).
    view: str = "overview"
    # The program, where it is not on the path.
    program: str = ""
