"""ROS 2 without ROS: nodes, topics and services on the wire of rmw_zenoh.

A ROS 2 system that uses rmw_zenoh keeps its graph in Zenoh's liveliness tokens, and its data under
keys of the form ``domain/topic/type/hash``, as CDR. All of that is written here; nothing of ROS
needs to be installed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from farhand.errors import BadValue, FarhandError, LinkError, Mismatch
from farhand.link.zenoh import library, locator, one_line
from farhand.loop.commands import NAMES, Outcome
from farhand.publishing.viewer import MessageViewer, Published
from farhand.recording.cdr import CdrReader, Template
from farhand.recording.definitions import definition, full_name, type_hash

ROUTER = "localhost:7447"
"""Where a ROS 2 machine has its Zenoh router."""

TRIGGER = "std_srvs::srv::dds_::Trigger_"
TRIGGER_HASH = "RIHS01_eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f"
"""A service without a question; it answers whether it was done, and a text."""

DEPTH, END_TIMEOUT_S = 10, 2.0
QOS = f"::,{DEPTH}:,:,:,,"  # reliable, volatile, the last ten


class Ros2(MessageViewer):
    """A node of the ROS 2 graph that publishes a session and takes commands for it.

    Topics have the names, types and frames of a recording. Services ``/farhand/stop``,
    ``/farhand/engage`` and so on take commands; ``/farhand/command`` is a topic for the same, and
    for ``set PATH=VALUE``; ``/STATION/target_joints`` and ``/STATION/target_pose`` send a station
    somewhere.

    Raises:
        Mismatch: Zenoh is not installed.
        LinkError: the router cannot be reached.
    """

    def __init__(self, published: Published) -> None:
        super().__init__(published)
        self._zenoh = library()
        self._domain = _domain()
        self._open(published.address)
        self._zid = str(self._session.info.zid())
        self._node = ros_name(f"farhand_{published.scene['rig']}")
        self._gids: dict[str, bytes] = {}
        self._sent: dict[str, int] = {}
        self._publishers: dict[str, Any] = {}
        self._declared: list[Any] = []
        self._listeners: list[threading.Thread] = []
        self._token("NN")
        for name, (kind, text) in self.topics.items():
            self._publisher(name, kind, text)
        for name in (name for name in NAMES if name != "set"):
            self._service(f"/farhand/{name}", name)
        self._subscriber("/farhand/command", "std_msgs/String", self._command)
        for robot in published.scene["robots"]:
            station = robot["name"]
            if robot["role"] != "object":
                to = f"/{ros_name(station)}/target"
                self._subscriber(f"{to}_joints", "sensor_msgs/JointState", self._joints(station))
                self._subscriber(f"{to}_pose", "geometry_msgs/PoseStamped", self._pose(station))

    def send(self, topic: str, t_ns: int, message: bytes) -> None:
        """Publish a message; one that does not get away in time is dropped."""
        self._sent[topic] += 1
        attachment = _attachment(self._sent[topic], t_ns, self._gids[topic])
        self._publishers[topic].put(message, attachment=attachment)

    def close(self) -> None:
        """Leave the graph."""
        self._session.close()
        # Python must not end while one of them is in the library
        for listener in self._listeners:
            listener.join(END_TIMEOUT_S)

    def _open(self, address: str) -> None:
        """Connect to the router; where there is none on this machine, be it."""
        place = locator(address or ROUTER)
        try:
            self._session = self._zenoh.open(self._settings("client", "connect", place))
            self.address = f"ROS 2 (rmw_zenoh), router {place}"
            return
        except self._zenoh.ZError as error:
            if address:
                raise LinkError(f"no Zenoh router at {address}: {one_line(error)}") from None
        try:
            self._session = self._zenoh.open(self._settings("router", "listen", "tcp/[::1]:7447"))
            self.address = f"ROS 2 (rmw_zenoh), as the router at {ROUTER}: there was none"
        except self._zenoh.ZError as error:
            raise LinkError(f"no Zenoh router at {ROUTER}, and {one_line(error)}") from None

    def _settings(self, mode: str, how: str, place: str) -> Any:
        places = [place, "tcp/127.0.0.1:7447"] if how == "listen" else [place]
        settings = self._zenoh.Config()
        for path, value in (
            ("mode", mode),
            (f"{how}/endpoints", places),
            ("scouting/multicast/enabled", False),
            (f"{how}/timeout_ms", 1000),
        ):
            settings.insert_json5(path, json.dumps(value))
        return settings

    def _token(self, kind: str, name: str = "", type_name: str = "", hash_: str = "") -> None:
        """Declare the node, or an endpoint of it, in the graph."""
        number = len(self._declared)
        key = f"@ros2_lv/{self._domain}/{self._zid}/0/{number}/{kind}/%/%/{self._node}"
        if name:
            key += f"/{name.replace('/', '%')}/{type_name}/{hash_}/{QOS}"
        self._declared.append(self._session.liveliness().declare_token(key))

    def _key(self, name: str, type_name: str, hash_: str) -> str:
        return f"{self._domain}/{name.lstrip('/')}/{type_name}/{hash_}"

    def _publisher(self, name: str, kind: str, text: str) -> None:
        hash_, topic = type_hash(kind, text), ros_name(name)
        self._token("MP", topic, dds_name(kind), hash_)
        self._publishers[name] = self._session.declare_publisher(
            self._key(topic, dds_name(kind), hash_),
            encoding="application/cdr",
            congestion_control=self._zenoh.CongestionControl.DROP,
        )
        self._gids[name], self._sent[name] = secrets.token_bytes(16), 0

    def _subscriber(self, name: str, kind: str, act: Any) -> None:
        hash_ = type_hash(kind, definition(kind))
        self._token("MS", name, dds_name(kind), hash_)

        def take(sample: Any) -> None:
            try:
                outcome = act(CdrReader(sample.payload.to_bytes()))
            except FarhandError as error:
                outcome = Outcome.refused(str(error))
            if not outcome.done:
                self._say(name, outcome)

        key = self._key(name, dds_name(kind), hash_)
        self._listen(name, self._session.declare_subscriber(key, self._channel()), take)

    def _service(self, name: str, command: str) -> None:
        self._token("SS", name, TRIGGER, TRIGGER_HASH)
        key = self._key(name, TRIGGER, TRIGGER_HASH)

        def answer(query: Any) -> None:
            outcome = self.published.door.command(command)
            reply = bytes(Template().integer(int(outcome.done), "B").string(outcome.text))
            extra: dict[str, Any] = {}
            if query.attachment is not None:
                # the answer carries the question's number and sender
                number, _, *rest = struct.unpack("<qq17s", query.attachment.to_bytes())
                extra["attachment"] = _attachment(number, time.time_ns(), rest[0][1:])
            query.reply(key, reply, encoding="application/cdr", **extra)
            if not outcome.done:
                self._say(name, outcome)

        declared = self._session.declare_queryable(key, self._channel(), complete=True)
        self._listen(name, declared, answer)

    def _channel(self) -> Any:
        """The last ones that wait; a callback's own queue has no end."""
        return self._zenoh.handlers.RingChannel(DEPTH)

    def _listen(self, name: str, declared: Any, act: Callable[[Any], None]) -> None:
        """Act on one after the other, in a thread of its own."""
        self._declared.append(declared)

        def go_on() -> None:
            # it ends with the session
            with suppress(self._zenoh.ZError):
                for one in declared:
                    try:
                        act(one)
                    except Exception as error:
                        # one stranger's nonsense does not silence the others
                        self._say(name, Outcome.refused(str(error)))
                    # while it is kept, whoever called waits for more answers
                    del one

        self._listeners.append(threading.Thread(target=go_on, daemon=True))
        self._listeners[-1].start()

    def _say(self, name: str, outcome: Outcome) -> None:
        # the session may have been closed meanwhile
        with suppress(self._zenoh.ZError):
            self.event(time.time_ns(), "refused", f"{name}: {outcome}", {})

    def _command(self, message: CdrReader) -> Outcome:
        return self.published.door.command(message.string())

    def _joints(self, station: str) -> Any:
        channels = self.published.header["streams"][station]["channels"]
        labels = next(channel["labels"] for channel in channels if channel["name"] == "q")

        def act(message: CdrReader) -> Outcome:
            message.header()
            names, values = message.strings(), message.sequence()
            if names and sorted(names) != sorted(labels):
                raise BadValue(f"a target of {station} names its joints: {', '.join(labels)}")
            if len(names or labels) != len(values):
                count = len(names or labels)
                raise BadValue(f"a target of {station} has {count} positions, not {len(values)}")
            place = dict(zip(names or labels, values, strict=True))
            joints = [place[label] for label in labels]
            return self.published.door.target(station, joints=joints)

        return act

    def _pose(self, station: str) -> Any:
        def act(message: CdrReader) -> Outcome:
            frame = message.header()
            if frame not in ("", "world"):
                raise BadValue(f"a target pose is in the frame world, not {frame!r}")
            return self.published.door.target(station, tool=message.numbers(7))

        return act


def ros_name(text: str) -> str:
    """A name as ROS allows it."""
    return re.sub(r"[^A-Za-z0-9_/]", "_", text)


def dds_name(kind: str) -> str:
    """``geometry_msgs::msg::dds_::Pose_`` for ``geometry_msgs/Pose``."""
    package, middle, name = full_name(kind).split("/")
    return f"{package}::{middle}::dds_::{name}_"


def _attachment(number: int, t_ns: int, gid: bytes) -> bytes:
    return struct.pack("<qqB", number, t_ns, len(gid)) + gid


def _domain() -> int:
    text = os.environ.get("ROS_DOMAIN_ID", "") or "0"
    if not text.isdecimal():
        raise Mismatch(f"ROS_DOMAIN_ID={text!r} is not a number such as 0")
    return int(text)
