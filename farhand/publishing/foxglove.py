"""A session in Foxglove: the topics of a recording live, the robots in 3-D, editable parameters."""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from farhand.console.scene import Kinematics
from farhand.errors import LinkError, Mismatch
from farhand.loop.commands import NAMES, Outcome
from farhand.publishing.viewer import (
    PICTURE_PERIOD_S,
    PORTS,
    Allowance,
    FixedShape,
    MessageViewer,
    Published,
    arrow_of,
    pieces_of,
    turn_between,
)
from farhand.recording.definitions import full_name
from farhand.recording.topics import Array

SCENE, FORCES = "/scene", "/forces"
SCENE_PERIOD_NS, NEWCOMER_NS = 5_000_000_000, 500_000_000
"""How often the shapes are sent again: a viewer that is slow loses messages; and when somebody has
just come."""

WORKERS = 8
"""Threads of the SDK. A client that floods holds one of them, until its last request is read; the
SDK would start one per core."""

TOO_MANY = "too many requests; try again in a second"
ANNOUNCE_PERIOD_S, ANNOUNCE_TIMEOUT_S = 0.2, 2.0
MAX_SAID = 10  # refusals that wait to be said

FORCE_RGBA = (0.84, 0.37, 0.0, 1.0)


class Foxglove(MessageViewer):
    """A WebSocket server that Foxglove connects to.

    Raises:
        Mismatch: the SDK is not installed.
        LinkError: the port is taken.
    """

    period_s = PICTURE_PERIOD_S

    def __init__(self, published: Published) -> None:
        super().__init__(published)
        self._foxglove = library()
        # it would say every message that a viewer sends wrongly or does not take
        self._foxglove.set_log_level("CRITICAL")
        port = int(published.address or PORTS["foxglove"])
        self._kinematics = Kinematics(published.scene)
        self._knobs = {knob["path"]: knob["value"] for knob in published.scene["knobs"]}
        self._context = self._foxglove.Context()
        self._channels: dict[str, Any] = {}
        for name, (kind, text) in self.topics.items():
            self._channel(name, kind, text)
        channel = self._foxglove.channels.SceneUpdateChannel
        self._scene = channel(SCENE, context=self._context)
        self._forces = channel(FORCES, context=self._context)
        self._robots, self._scene_ns, self._newcomer = self._shapes(), 0, False
        self._allowance = Allowance()
        self._said: deque[str] = deque(maxlen=MAX_SAID)
        self._changed: set[str] = set()
        self._to_announce = threading.Event()
        os.environ["TOKIO_WORKER_THREADS"] = str(WORKERS)
        capability = self._foxglove.websocket.Capability
        try:
            self._server = self._foxglove.start_server(
                name=f"farhand {published.scene['rig']}",
                port=port,
                capabilities=[capability.Parameters, capability.Services, capability.Time],
                server_listener=_listener(self, self._foxglove.websocket.ServerListener),
                supported_encodings=["json"],
                services=[self._service(name) for name in NAMES if name != "set"],
                context=self._context,
            )
        except (OSError, RuntimeError) as error:
            raise LinkError(f"Foxglove cannot listen at port {port}: {error}") from None
        self.address = f"Foxglove, ws://127.0.0.1:{self._server.port}"
        threading.Thread(target=self._announce, args=(self._server.port,), daemon=True).start()

    def send(self, topic: str, t_ns: int, message: bytes) -> None:
        """Publish a message."""
        self._channels[topic].log(message, log_time=t_ns)

    def draw(self, t_ns: int, kinematics: Kinematics, forces: dict[str, Array]) -> None:
        """Publish the bodies' frames and the forces as arrows."""
        super().draw(t_ns, kinematics, forces)
        self._server.broadcast_time(t_ns)
        while self._said:
            level = self._foxglove.StatusLevel.Warning
            self._server.publish_status(self._said.popleft(), level)
        due = self._scene_ns + (NEWCOMER_NS if self._newcomer else SCENE_PERIOD_NS)
        if t_ns >= due and self._scene.has_sinks():
            self._scene_ns, self._newcomer = t_ns, False
            self._scene.log(self._robots)
        if self._forces.has_sinks():
            entities = [self._arrow(name, kinematics, force) for name, force in forces.items()]
            update = self._foxglove.messages.SceneUpdate(entities=entities)
            self._forces.log(update, log_time=t_ns)

    def changed(self, path: str, value: Any) -> None:
        """Publish what a parameter is now."""
        if path in self._knobs and self._knobs[path] != value:
            self._knobs[path] = value
            self._changed.add(path)
            self._to_announce.set()

    def close(self) -> None:
        """Stop serving."""
        self._server.stop()

    def came(self, topic: str) -> None:
        """Somebody has subscribed."""
        self._newcomer |= topic == SCENE

    def parameters(self, paths: Sequence[str], client: int) -> list[Any]:
        """The parameters asked for; all of them if none is named."""
        return self._values(paths or list(self._knobs)) if self._allowance.take(client) else []

    def set_parameters(self, parameters: Sequence[Any], client: int) -> list[Any]:
        """Set parameters; the answer is what they are now; the SDK sends it to everybody."""
        names = [parameter.name for parameter in parameters if parameter.name in self._knobs]
        if not parameters:
            with suppress(KeyError):
                while True:
                    names.append(self._changed.pop())
        elif not self._allowance.take(client, len(parameters)):
            self._changed.update(names)
            self._to_announce.set()
            return []
        for parameter in parameters:
            outcome = self._set(parameter.name, parameter.get_value())
            if not outcome.done:
                self._said.append(f"{parameter.name}: {outcome}")
        return self._values(names)

    def _values(self, paths: Sequence[str]) -> list[Any]:
        known = [path for path in paths if path in self._knobs]
        return [self._foxglove.Parameter(path, value=self._knobs[path]) for path in known]

    def _announce(self, port: int) -> None:
        """Let the SDK tell all viewers which parameters were changed elsewhere.

        Its own call for that waits for a lock while it holds Python's; a viewer that subscribes
        holds that lock and waits for Python's. The answer to setting is sent to all without
        Python's lock: so this is a client that sets nothing.
        """
        while self._to_announce.wait():
            self._to_announce.clear()
            try:
                _send_once(port, json.dumps({"op": "setParameters", "parameters": []}).encode())
            except OSError:
                self._to_announce.set()
            time.sleep(ANNOUNCE_PERIOD_S)

    def _set(self, path: str, value: Any) -> Outcome:
        if path not in self._knobs:
            return Outcome.refused("there is no such parameter")
        outcome = self.published.door.set(path, value)
        if outcome.done:
            self._knobs[path] = value
        return outcome

    def _channel(self, name: str, kind: str, text: str) -> None:
        schema = self._foxglove.Schema(name=full_name(kind), encoding="ros2msg", data=text.encode())
        self._channels[name] = self._foxglove.Channel(
            name, message_encoding="cdr", schema=schema, context=self._context
        )

    def _service(self, command: str) -> Any:
        """A command as a service: an empty question, an answer with what came of it."""

        def schema(name: str, properties: dict[str, str]) -> Any:
            fields = {key: {"type": kind} for key, kind in properties.items()}
            text = json.dumps({"type": "object", "properties": fields}).encode()
            kept = self._foxglove.Schema(name=name, encoding="jsonschema", data=text)
            return self._foxglove.MessageSchema(encoding="json", schema=kept)

        def answer(request: Any) -> bytes:
            outcome = Outcome.refused(TOO_MANY)
            if command == "stop" or self._allowance.take(request.client_id):
                outcome = self.published.door.command(command)
            return json.dumps({"success": outcome.done, "message": outcome.text}).encode()

        described = self._foxglove.ServiceSchema(
            "std_srvs/srv/Trigger",
            request=schema("Trigger_Request", {}),
            response=schema("Trigger_Response", {"success": "boolean", "message": "string"}),
        )
        return self._foxglove.Service(f"/farhand/{command}", schema=described, handler=answer)

    def _shapes(self) -> Any:
        entities: dict[str, list[Any]] = {}
        for piece in pieces_of(self._kinematics, self.published.scene):
            entities.setdefault(piece.frame, []).append(self._triangles(piece))
        messages = self._foxglove.messages
        drawn = [
            messages.SceneEntity(frame_id=frame, id=frame, frame_locked=True, triangles=parts)
            for frame, parts in entities.items()
        ]
        return messages.SceneUpdate(entities=drawn)

    def _triangles(self, piece: FixedShape) -> Any:
        messages = self._foxglove.messages
        points = [messages.Point3(x=x, y=y, z=z) for x, y, z in piece.vertices.tolist()]
        return messages.TriangleListPrimitive(
            points=points, indices=piece.triangles.ravel().tolist(), color=self._colour(piece.rgba)
        )

    def _colour(self, rgba: tuple[float, ...]) -> Any:
        return self._foxglove.messages.Color(**dict(zip("rgba", map(float, rgba), strict=True)))

    def _arrow(self, robot: str, kinematics: Kinematics, force: Array) -> Any:
        messages = self._foxglove.messages
        arrow = arrow_of(force, self.published.scene)
        arrows = []
        if arrow is not None:
            length = float(np.linalg.norm(arrow))
            turn = turn_between(np.array([1.0, 0.0, 0.0]), arrow / length)
            x, y, z = kinematics.tool_position[robot].tolist()
            pose = messages.Pose(
                position=messages.Vector3(x=x, y=y, z=z),
                orientation=messages.Quaternion(**dict(zip("xyzw", turn.tolist(), strict=True))),
            )
            head = min(0.06, 0.4 * length)
            arrows = [
                messages.ArrowPrimitive(
                    pose=pose,
                    shaft_length=length - head,
                    shaft_diameter=0.02,
                    head_length=head,
                    head_diameter=0.05,
                    color=self._colour(FORCE_RGBA),
                )
            ]
        return messages.SceneEntity(frame_id="world", id=f"force on {robot}", arrows=arrows)


def _listener(viewer: Foxglove, base: type) -> Any:
    """What the server calls, from threads of its own; the SDK's base class ignores the rest."""

    class FoxgloveListener(base):
        def on_subscribe(self, client: Any, channel: Any) -> None:
            viewer.came(channel.topic)

        def on_get_parameters(
            self, client: Any, param_names: list[str], request_id: str | None = None
        ) -> list[Any]:
            return viewer.parameters(param_names, client.id)

        def on_set_parameters(
            self, client: Any, parameters: list[Any], request_id: str | None = None
        ) -> list[Any]:
            return viewer.set_parameters(parameters, client.id)

    return FoxgloveListener()


def _send_once(port: int, text: bytes) -> None:
    """Connect to a server on this machine, send it a short text, and leave.

    Raises:
        OSError: it does not answer.
    """
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    hello = (
        f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
        "Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), ANNOUNCE_TIMEOUT_S) as line:
        line.settimeout(ANNOUNCE_TIMEOUT_S)
        line.sendall(hello.encode())
        if not line.recv(4096).startswith(b"HTTP/1.1 101"):
            raise OSError("no WebSocket")
        # final, text and close; masked with zeros
        line.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text + b"\x88\x80" + bytes(4))
        # the server reads no more of a client that is gone
        while line.recv(65536):
            pass


def library() -> Any:
    """The SDK.

    Raises:
        Mismatch: it is not installed.
    """
    try:
        import foxglove
        import foxglove.channels
        import foxglove.messages
        import foxglove.websocket
    except ImportError:
        install = "pip install 'farhand[foxglove]'"
        raise Mismatch(f"it needs the package foxglove-sdk: {install}") from None
    return foxglove
