"""A session in Foxglove: the topics of a recording live, the robots in 3-D, editable parameters."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from farhand.console.scene import Kinematics
from farhand.errors import BadValue, LinkError, Mismatch
from farhand.loop.commands import NAMES, Outcome
from farhand.publishing.viewer import (
    MessageViewer,
    Piece,
    Published,
    arrow_of,
    pieces_of,
    turn_between,
)
from farhand.recording.definitions import full_name
from farhand.recording.topics import Array

PORT = 8765
SCENE, FORCES = "/scene", "/forces"
FORCE_RGBA = (0.84, 0.37, 0.0, 1.0)


class Foxglove(MessageViewer):
    """A WebSocket server that Foxglove connects to.

    Raises:
        Mismatch: the SDK is not installed.
        BadValue: the address is not a port.
        LinkError: the port is taken.
    """

    def __init__(self, published: Published) -> None:
        super().__init__(published)
        self._foxglove = library()
        port = _port(published.address)
        self._kinematics = Kinematics(published.scene)
        self._knobs = {knob["path"]: knob["value"] for knob in published.scene["knobs"]}
        self._context = self._foxglove.Context()
        self._channels: dict[str, Any] = {}
        for name, (kind, text) in self.topics.items():
            self._channel(name, kind, text)
        channel = self._foxglove.channels.SceneUpdateChannel
        self._scene = channel(SCENE, context=self._context)
        self._forces = channel(FORCES, context=self._context)
        self._robots = self._shapes()
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

    def send(self, topic: str, t_ns: int, message: bytes) -> None:
        """Publish a message."""
        self._channels[topic].log(message, log_time=t_ns)

    def draw(self, t_ns: int, kinematics: Kinematics, forces: dict[str, Array]) -> None:
        """Publish the bodies' frames and the forces as arrows."""
        super().draw(t_ns, kinematics, forces)
        self._server.broadcast_time(t_ns)
        if self._forces.has_sinks():
            entities = [self._arrow(name, kinematics, force) for name, force in forces.items()]
            update = self._foxglove.messages.SceneUpdate(entities=entities)
            self._forces.log(update, log_time=t_ns)

    def changed(self, path: str, value: Any) -> None:
        """Publish what a parameter is now."""
        if path in self._knobs:
            self._knobs[path] = value
            self._server.publish_parameter_values(self.parameters([path]))

    def close(self) -> None:
        """Stop serving."""
        self._server.stop()

    def draw_robots(self) -> None:
        """Send the shapes, for somebody who has just come."""
        self._scene.log(self._robots)

    def parameters(self, paths: Sequence[str]) -> list[Any]:
        """The parameters asked for; all of them if none is named."""
        known = [path for path in paths or self._knobs if path in self._knobs]
        return [self._foxglove.Parameter(path, value=self._knobs[path]) for path in known]

    def set_parameters(self, parameters: Sequence[Any]) -> list[Any]:
        """Set parameters; what is answered is what they are now."""
        for parameter in parameters:
            outcome = self._set(parameter.name, parameter.get_value())
            if not outcome.done:
                level = self._foxglove.StatusLevel.Warning
                self._server.publish_status(f"{parameter.name}: {outcome}", level)
        return self.parameters([parameter.name for parameter in parameters])

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

    def _triangles(self, piece: Piece) -> Any:
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

    class Listener(base):
        def on_subscribe(self, client: Any, channel: Any) -> None:
            if channel.topic == SCENE:
                viewer.draw_robots()

        def on_get_parameters(
            self, client: Any, param_names: list[str], request_id: str | None = None
        ) -> list[Any]:
            return viewer.parameters(param_names)

        def on_set_parameters(
            self, client: Any, parameters: list[Any], request_id: str | None = None
        ) -> list[Any]:
            return viewer.set_parameters(parameters)

    return Listener()


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
        raise Mismatch(f"--publish foxglove needs the package foxglove-sdk: {install}") from None
    return foxglove


def _port(address: str) -> int:
    number = float(address) if address.isdecimal() else math.nan if address else PORT
    if not 0 <= number <= 65535:
        raise BadValue(f"--publish foxglove:{address}: not a port, 0 to 65535")
    return int(number)
