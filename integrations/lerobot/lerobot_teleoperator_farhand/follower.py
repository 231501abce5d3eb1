"""The robot: the follower of a running pair, with what it feels."""

from __future__ import annotations

from typing import Any

from lerobot.cameras import make_cameras_from_configs
from lerobot.robots import Robot
from lerobot.utils.decorators import check_if_already_connected, check_if_not_connected

from lerobot_teleoperator_farhand.config import FarhandFollowerConfig
from lerobot_teleoperator_farhand.session import shared


class StateName(str):
    """A name of the state.

    ``lerobot-rollout`` (0.6.1) gives a policy only the numbers whose names end in ``.pos`` or
    ``.vel``, although ``lerobot-record`` stores all of them. A policy trained on forces needs
    them, so these names say yes to that question.
    """

    def endswith(self, suffix: Any, *where: int) -> bool:
        """Whether it ends so, or is asked for as a part of the state."""
        return suffix == (".pos", ".vel") or super().endswith(suffix, *where)


class FarhandFollower(Robot):
    """The follower. ``farhand.lerobot_features`` has the names of what it observes."""

    config_class = FarhandFollowerConfig
    name = "farhand_follower"

    def __init__(self, config: FarhandFollowerConfig) -> None:
        super().__init__(config)
        self.config = config
        self.cameras = make_cameras_from_configs(config.cameras)
        self._session = shared(config.session, config.station, config.wait)

    @property
    def observation_features(self) -> dict[str, Any]:
        """Names of the state, and the cameras' shapes."""
        shapes = {name: (one.height, one.width, 3) for name, one in self.cameras.items()}
        return {StateName(name): float for name in self._state_names()} | shapes

    @property
    def action_features(self) -> dict[str, type]:
        """Names of the action."""
        return dict.fromkeys(self._session.features().action_names, float)

    @property
    def is_connected(self) -> bool:
        """Whether it and its cameras are in use."""
        return self._session.follower and all(one.is_connected for one in self.cameras.values())

    @property
    def is_calibrated(self) -> bool:
        """Farhand knows the arms; there is nothing to calibrate here."""
        return True

    @check_if_already_connected
    def connect(self, calibrate: bool = True) -> None:
        """Find the session, or start it."""
        self._session.client()
        for camera in self.cameras.values():
            camera.connect()
        self._session.follower = True

    def calibrate(self) -> None:
        """Nothing to do."""

    def configure(self) -> None:
        """Nothing to do."""

    @check_if_not_connected
    def get_observation(self) -> dict[str, Any]:
        """The state, of one tick, and pictures. Ages and time come along but are not recorded."""
        seen = self._session.observe()
        names = self._session.features().state_names
        observed = dict(zip(names, seen.state.tolist(), strict=True)) | seen.aside
        return observed | {name: one.read_latest() for name, one in self.cameras.items()}

    @check_if_not_connected
    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Nothing for the leader's own action, which the pair carries out; or drive.

        Returns:
            the action, or where the leader is if a person has taken the follower.
        """
        if self._session.is_led(action) or self._session.drive(action):
            return action
        return dict(self._session.read().action)

    @check_if_not_connected
    def disconnect(self) -> None:
        """Detach; the follower holds where it is, or goes on following its leader."""
        for camera in self.cameras.values():
            camera.disconnect()
        self._session.follower = False
        self._session.close()

    def _state_names(self) -> list[str]:
        features = self._session.features()
        if self.config.forces:
            return features.state_names
        return [name for name in features.state_names if name.endswith((".pos", ".vel"))]
