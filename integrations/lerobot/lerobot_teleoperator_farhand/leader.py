"""The teleoperator: the leader of a running pair, whose forces the pair's own loop makes."""

from __future__ import annotations

from typing import Any

from lerobot.teleoperators import Teleoperator
from lerobot.utils.decorators import check_if_already_connected, check_if_not_connected

from lerobot_teleoperator_farhand.config import FarhandLeaderConfig
from lerobot_teleoperator_farhand.session import shared


class FarhandLeader(Teleoperator):
    """The leader. Its action is where it wants the follower, see ``farhand.lerobot_features``."""

    config_class = FarhandLeaderConfig
    name = "farhand_leader"

    def __init__(self, config: FarhandLeaderConfig) -> None:
        super().__init__(config)
        self.config = config
        self._session = shared(config.session, config.station, config.wait)

    @property
    def action_features(self) -> dict[str, type]:
        """Names of the action."""
        return dict.fromkeys(self._session.features().action_names, float)

    @property
    def feedback_features(self) -> dict[str, type]:
        """Where LeRobot may send the leader when it hands over."""
        return self.action_features

    @property
    def is_connected(self) -> bool:
        """Whether it is in use."""
        return self._session.leader

    @property
    def is_calibrated(self) -> bool:
        """Farhand knows the arms; there is nothing to calibrate here."""
        return True

    @check_if_already_connected
    def connect(self, calibrate: bool = True) -> None:
        """Find the session, or start it."""
        self._session.client()
        self._session.leader = True

    def calibrate(self) -> None:
        """Nothing to do."""

    def configure(self) -> None:
        """Nothing to do."""

    @check_if_not_connected
    def get_action(self) -> dict[str, float]:
        """Where the leader wants the follower, at the tick of the last observation."""
        self._session.lead()
        return self._session.take_action()

    @check_if_not_connected
    def send_feedback(self, feedback: dict[str, Any]) -> None:
        """Nothing: LeRobot sends the leader to the follower, and there the coupling keeps it."""

    @check_if_not_connected
    def enable_torque(self) -> None:
        """Hold still, with the follower, until LeRobot lets go."""
        self._session.hold()

    @check_if_not_connected
    def disable_torque(self) -> None:
        """Let the person lead, or the policy drive: whichever LeRobot asks for next."""
        self._session.let_go()

    @check_if_not_connected
    def disconnect(self) -> None:
        """Detach; the pair goes on as it is."""
        self._session.leader = False
        self._session.close()
