"""ROS 2 message definitions: the standard ones that are used, and the few of Farhand's own."""

from __future__ import annotations

import hashlib
import json
import re

_LINE = "=" * 80

_TIME = "int32 sec\nuint32 nanosec\n"
_HEADER = "builtin_interfaces/Time stamp\nstring frame_id\n"
_VECTOR = "float64 x\nfloat64 y\nfloat64 z\n"
_QUATERNION = "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n"

DEFINITIONS = {
    "builtin_interfaces/Time": (_TIME, ()),
    "std_msgs/Header": (_HEADER, ("builtin_interfaces/Time",)),
    "geometry_msgs/Vector3": (_VECTOR, ()),
    "geometry_msgs/Point": (_VECTOR, ()),
    "geometry_msgs/Quaternion": (_QUATERNION, ()),
    "geometry_msgs/Pose": (
        "Point position\nQuaternion orientation\n",
        ("geometry_msgs/Point", "geometry_msgs/Quaternion"),
    ),
    "geometry_msgs/Twist": ("Vector3 linear\nVector3 angular\n", ("geometry_msgs/Vector3",)),
    "geometry_msgs/Wrench": ("Vector3 force\nVector3 torque\n", ("geometry_msgs/Vector3",)),
    "geometry_msgs/Transform": (
        "Vector3 translation\nQuaternion rotation\n",
        ("geometry_msgs/Vector3", "geometry_msgs/Quaternion"),
    ),
    "geometry_msgs/PoseStamped": (
        "std_msgs/Header header\nPose pose\n",
        ("std_msgs/Header", "geometry_msgs/Pose"),
    ),
    "geometry_msgs/TwistStamped": (
        "std_msgs/Header header\nTwist twist\n",
        ("std_msgs/Header", "geometry_msgs/Twist"),
    ),
    "geometry_msgs/WrenchStamped": (
        "std_msgs/Header header\nWrench wrench\n",
        ("std_msgs/Header", "geometry_msgs/Wrench"),
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\nTransform transform\n",
        ("std_msgs/Header", "geometry_msgs/Transform"),
    ),
    "tf2_msgs/TFMessage": (
        "geometry_msgs/TransformStamped[] transforms\n",
        ("geometry_msgs/TransformStamped",),
    ),
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\n"
        "float64[] position\nfloat64[] velocity\nfloat64[] effort\n",
        ("std_msgs/Header",),
    ),
    "rcl_interfaces/Log": (
        "byte DEBUG=10\nbyte INFO=20\nbyte WARN=30\nbyte ERROR=40\nbyte FATAL=50\n"
        "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\n"
        "string file\nstring function\nuint32 line\n",
        ("builtin_interfaces/Time",),
    ),
    "std_msgs/String": ("string data\n", ()),
    "diagnostic_msgs/KeyValue": ("string key\nstring value\n", ()),
    "diagnostic_msgs/DiagnosticStatus": (
        "byte OK=0\nbyte WARN=1\nbyte ERROR=2\nbyte STALE=3\n"
        "byte level\nstring name\nstring message\nstring hardware_id\nKeyValue[] values\n",
        ("diagnostic_msgs/KeyValue",),
    ),
    "diagnostic_msgs/DiagnosticArray": (
        "std_msgs/Header header\nDiagnosticStatus[] status\n",
        ("std_msgs/Header", "diagnostic_msgs/DiagnosticStatus"),
    ),
    "farhand_msgs/Event": (
        "# Something that happened once. kind: command, trip, mode, coupling, lost or note; "
        "data: JSON, may be empty.\n"
        "builtin_interfaces/Time stamp\nstring kind\nstring text\nstring data\n",
        ("builtin_interfaces/Time",),
    ),
}
"""Text and direct dependencies of each message by its short name (package/Message)."""


def definition(name: str) -> str:
    """The text of a message and of all it depends on, for an MCAP schema (``ros2msg``)."""
    return with_dependencies(*DEFINITIONS[name])


def with_dependencies(text: str, needed: tuple[str, ...]) -> str:
    """A definition followed by those it depends on, each once."""
    names: list[str] = []
    waiting = list(needed)
    while waiting:
        name = waiting.pop(0)
        if name not in names:
            names.append(name)
            waiting += DEFINITIONS[name][1]
    return text + "".join(f"{_LINE}\nMSG: {name}\n{DEFINITIONS[name][0]}" for name in names)


def full_name(name: str) -> str:
    """``geometry_msgs/msg/Pose`` for ``geometry_msgs/Pose``."""
    package, _, message = name.partition("/")
    return f"{package}/msg/{message}"


# type_id of rosidl's type descriptions (REP 2016)
_TYPE_IDS = {"uint8": 3, "int32": 6, "uint32": 7, "float64": 11, "bool": 15, "byte": 16}
_TYPE_IDS |= {"string": 17}
_NESTED, _ARRAY, _SEQUENCE = 1, 48, 144
_FIELD = re.compile(r"([\w/]+)(\[(\d*)\])?\s+(\w+)(\s+[^=\s]+)?")


def type_hash(kind: str, text: str) -> str:
    """The hash (RIHS01) by which ROS 2 tells whether two sides mean the same message.

    It is over names and types of the fields, and of the fields of all that is nested.

    Args:
        kind: short name, such as ``geometry_msgs/Pose``.
        text: its definition with its dependencies, as :func:`definition` gives it.
    """
    own, *others = re.split(rf"{_LINE}\nMSG: (\S+)\n", text)
    nested = dict(zip(others[::2], others[1::2], strict=True))
    described = {
        "type_description": _description(kind, own),
        "referenced_type_descriptions": [
            _description(name, nested[name]) for name in sorted(nested, key=full_name)
        ],
    }
    return f"RIHS01_{hashlib.sha256(json.dumps(described).encode()).hexdigest()}"


def _description(kind: str, text: str) -> dict[str, object]:
    """What of a message goes into its hash: no comments, constants or default values."""
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    fields = [found.groups() for found in map(_FIELD.fullmatch, lines) if found]
    described = [
        {"name": name, "type": _field_type(kind, word, brackets, count)}
        for word, brackets, count, name, _ in fields
    ]
    return {"type_name": full_name(kind), "fields": described}


def _field_type(kind: str, word: str, brackets: str | None, count: str | None) -> dict[str, object]:
    nested = ""
    if word not in _TYPE_IDS:
        nested = full_name(word if "/" in word else f"{kind.partition('/')[0]}/{word}")
    number = _TYPE_IDS.get(word, _NESTED)
    if brackets:
        number += _ARRAY if count else _SEQUENCE
    return {
        "type_id": number,
        "capacity": int(count or 0),
        "string_capacity": 0,
        "nested_type_name": nested,
    }
