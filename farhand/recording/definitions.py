"""ROS 2 message definitions: the standard ones a recording uses, and the few of Farhand's own."""

from __future__ import annotations

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
