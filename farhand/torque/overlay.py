"""An identified model of an arm in a file, and how an :class:`~farhand.arm.Arm` takes it over."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from farhand.arm import Arm
from farhand.errors import BadValue, FileError, Mismatch

Array = np.ndarray

KIND = "farhand torque model"
_PER_JOINT = ("rotor", "coulomb", "viscous", "scale", "offset")
MAX_TILT_RAD = np.pi / 2


@dataclass(frozen=True)
class IdentifiedModel:
    """Masses, rotors and friction of an arm, by joint in the model's order."""

    robot: str  #: name of the robot it was made for
    joints: tuple[str, ...]  #: names of all joints of its model
    mass: Array  #: of what each joint carries up to the next, [kg]
    centre: Array  #: in the joint's frame, joints × 3, [m]
    inertia: Array  #: about the centre, joints × 3 × 3, [kg·m²]
    rotor: Array  #: [kg·m²]
    coulomb: Array  #: [N·m]
    viscous: Array  #: [N·m·s/rad]
    scale: Array  #: reading over torque, [-] or [A/(N·m)]
    offset: Array  #: of the reading
    tilt: tuple[float, float] = (0.0, 0.0)  #: of the base about x and y, [rad]
    source: str = ""  #: the log it came from

    def fits(self, arm: Arm) -> bool:
        """Whether an arm is this robot: a leader may have the joints' names of its follower."""
        return arm.model.name == self.robot and tuple(arm.model.names)[1:] == self.joints

    def apply(self, arm: Arm) -> None:
        """Let an arm believe this model from now on.

        Raises:
            Mismatch: the arm has other joints.
        """
        if not self.fits(arm):
            theirs = f"{arm.model.name} with {', '.join(list(arm.model.names)[1:])}"
            raise Mismatch(
                f"the model is for {self.robot} with {', '.join(self.joints)}, not {theirs}"
            )
        for k in range(len(self.joints)):
            arm.model.inertias[k + 1] = pin.Inertia(
                float(self.mass[k]), self.centre[k], self.inertia[k]
            )
        arm.model.armature = self.rotor.copy()
        arm.viscous[:] = self.viscous
        arm.dry = self.coulomb.copy() if self.coulomb.any() else None
        if any(self.tilt):
            # compiled terms know only gravity that points down
            arm.body = None
            pull = np.array([0.0, 0.0, arm.model.gravity.linear[2]])
            turned = np.cross(pull, arm.base @ [*self.tilt, 0.0])
            arm.model.gravity = pin.Motion(pull + turned, np.zeros(3))
        arm.data = arm.model.createData()
        arm.refresh()
        arm.compute()

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        bodies = {
            name: {
                "mass": float(self.mass[k]),
                "centre": self.centre[k].tolist(),
                "inertia": self.inertia[k].tolist(),
                **{key: float(getattr(self, key)[k]) for key in _PER_JOINT},
            }
            for k, name in enumerate(self.joints)
        }
        content = {"kind": KIND, "robot": self.robot, "source": self.source}
        return {**content, "tilt": list(self.tilt), "joints": list(self.joints), "bodies": bodies}


def read_model(path: str | Path) -> IdentifiedModel:
    """Read a file that ``farhand torque fit`` wrote.

    Raises:
        FileError: it cannot be read.
        BadValue: it is no such file, or a number in it is impossible.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise BadValue(f"{path.name} is not a JSON file: {error}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise BadValue(f"{path.name} is not an identified model; farhand torque fit writes one")
    try:
        joints = tuple(str(name) for name in content["joints"])
        bodies = [content["bodies"][name] for name in joints]
        numbers = {
            key: np.array([body[key] for body in bodies], dtype=float)
            for key in ("mass", "centre", "inertia", *_PER_JOINT)
        }
        tilt = (float(content["tilt"][0]), float(content["tilt"][1]))
        source = str(content.get("source", ""))
        found = IdentifiedModel(
            str(content["robot"]),
            joints,
            numbers["mass"],
            numbers["centre"],
            numbers["inertia"],
            numbers["rotor"],
            numbers["coulomb"],
            numbers["viscous"],
            numbers["scale"],
            numbers["offset"],
            tilt,
            source,
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BadValue(f"{path.name} is damaged: {error!r}; write it again") from None
    return _possible(found, path.name)


def _possible(model: IdentifiedModel, name: str) -> IdentifiedModel:
    """The model, if such bodies can exist."""
    n = len(model.joints)
    sizes = {
        "mass": (n,),
        "centre": (n, 3),
        "inertia": (n, 3, 3),
        **dict.fromkeys(_PER_JOINT, (n,)),
    }
    numbers = {key: getattr(model, key) for key in sizes} | {"tilt": np.array(model.tilt)}
    whole = all(numbers[key].shape == size for key, size in sizes.items())
    if not whole or not all(np.isfinite(one).all() for one in numbers.values()):
        raise BadValue(f"{name} is damaged: a number is missing or not finite; write it again")
    if np.hypot(*model.tilt) > MAX_TILT_RAD:
        raise BadValue(f"{name}: a tilt of {model.tilt} rad is impossible; write it again")
    for k, joint in enumerate(model.joints):
        tensor = model.inertia[k]
        moments = np.linalg.eigvalsh(tensor)
        triangle = moments[0] + moments[1] >= moments[2] * (1.0 - 1e-9)
        able = triangle and np.allclose(tensor, tensor.T, atol=1e-9 * moments[2])
        if model.mass[k] <= 0.0 or moments[0] < 0.0 or not able:
            raise BadValue(f"{name}: mass or inertia of {joint} is impossible; write it again")
        if min(model.coulomb[k], model.viscous[k], model.rotor[k]) < 0.0:
            raise BadValue(f"{name}: friction or rotor of {joint} is below zero; write it again")
    return model
