"""Friction: what resists a joint's motion, n joints at once, as one interface that every model follows.

A model is a dataclass whose parameters carry unit and bounds. It is driven by velocity:
:meth:`Friction.step` advances its state over one time step and returns the resisting torque at the
end of it, by an update that is exact or implicit in the state, so that the step may be as long as
the plant's however stiff the model is. What couples a model to an inertia just as safely is
:mod:`farhand.friction.models.implicit`.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from farhand.errors import BadValue, UnknownName
from farhand.parameters import one_or, validate

Array = np.ndarray
FloatArray = np.ndarray


@dataclass(kw_only=True)
class Friction(ABC):
    """A friction model of ``joints`` joints; every parameter is one number for all of them or one for each.

    Attributes:
        name: what the command line calls it.
        needs_applied: whether the torque at rest depends on the applied torque, which must then be
            passed.
        order: internal states per joint.
        joints: number of joints, [-].
        state: internal state, ``order`` × ``joints``; empty for a static model.
    """

    name: ClassVar[str]
    needs_applied: ClassVar[bool] = False
    order: ClassVar[int] = 0

    joints: int = 1
    state: FloatArray = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Spread the parameters over the joints, check them, and start at rest."""
        if self.joints < 1:
            raise BadValue(f"joints = {self.joints} must be at least 1")
        for field in per_joint(type(self)):
            setattr(self, field, self._spread(field, getattr(self, field)))
        self.reset()
        validate(self, self.name)

    def refresh(self) -> None:  # noqa: B027 - most models have nothing to check
        """Check parameters that must go together and derive what depends on them."""

    def reset(self) -> None:
        """Forget the past: every state at zero."""
        self.state = np.zeros((self.order, self.joints))

    def step(
        self, velocity: FloatArray, dt: float, applied: FloatArray | None = None
    ) -> FloatArray:
        """Advance by ``dt`` and return the resisting torque at the end, [N·m].

        It has the sign of the velocity while the joint slides; a plant subtracts it.

        Args:
            velocity: during the step, [rad/s].
            dt: length of the step, [s].
            applied: torque that pushes the joint, [N·m]; what dry friction balances at rest.
        """
        force, self.state = self.move(np.asarray(velocity, dtype=float), dt, applied)
        return force

    @abstractmethod
    def move(
        self, velocity: FloatArray, dt: float, applied: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """What :meth:`step` returns and the state it would leave, without leaving it."""

    def steady(self, velocity: Any) -> FloatArray:
        """Torque at constant velocity, [N·m]; any shape for one joint, else the last axis is the joints'."""
        v = np.asarray(velocity, dtype=float)
        curve = self.curve(v)
        return curve.reshape(v.shape) if self.joints == 1 else curve

    @abstractmethod
    def curve(self, velocity: FloatArray) -> FloatArray:
        """The steady-state curve, broadcast against the parameters, [N·m]."""

    def quick(self, velocity: FloatArray) -> FloatArray:
        """The curve as a control loop wants it, one velocity per joint, [N·m]."""
        return self.curve(velocity)

    @property
    def stored(self) -> FloatArray:
        """Energy in the model's springs that it can give back, [J]."""
        return np.zeros(self.joints)

    @property
    def hold(self) -> tuple[FloatArray, FloatArray] | None:
        """Range of torque that dry friction balances at exactly zero velocity, [N·m]; None for a continuous model."""
        return None

    def _spread(self, field: str, value: Any) -> FloatArray:
        try:
            return np.array(np.broadcast_to(np.asarray(value, dtype=float), (self.joints,)))
        except (TypeError, ValueError):
            raise BadValue(f"{self.name}.{field} = {value} takes {one_or(self.joints)}") from None


class StaticFriction(Friction):
    """A model without state: the curve F(v), and at exactly zero velocity whatever the applied torque asks for.

    A curve that jumps at zero holds the joint there with any torque between its two limits.
    """

    def move(
        self, velocity: FloatArray, dt: float, applied: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """The curve, and at rest the applied torque as far as dry friction goes."""
        force = self.curve(velocity)
        hold = self.hold
        if applied is not None and hold is not None:
            force = np.where(velocity == 0.0, np.clip(applied, *hold), force)
        return force, self.state


def per_joint(model: type[Friction]) -> list[str]:
    """Names of a model's parameters that each joint has one of."""
    return [
        f.name
        for f in dataclasses.fields(model)
        if "unit" in f.metadata and isinstance(f.default, float)
    ]


FRICTIONS: dict[str, type[Friction]] = {}
"""Every model by its name on the command line."""

M = TypeVar("M", bound=type[Friction])


def register(model: M) -> M:
    """Make a model known by its name; usable as a decorator."""
    if FRICTIONS.get(model.name, model) is not model:
        raise BadValue(f"friction model {model.name!r} is already there; give yours another name")
    FRICTIONS[model.name] = model
    return model


def make(name: str, joints: int = 1, **parameters: Any) -> Friction:
    """The friction model of that name.

    Args:
        name: see :data:`FRICTIONS`.
        joints: number of joints, [-].
        parameters: those of the model, by name; the rest keep their defaults.
    """
    if name not in FRICTIONS:
        raise UnknownName("friction model", name, FRICTIONS)
    model = FRICTIONS[name]
    known = [f.name for f in dataclasses.fields(model) if "unit" in f.metadata]
    for parameter in parameters:
        if parameter not in known:
            raise UnknownName(f"parameter of {name}", parameter, known)
    return model(joints=joints, **parameters)


def read_parameters(text: str) -> dict[str, FloatArray]:
    """Parameters from text such as ``"coulomb=0.5 0.4;viscous=0.1"``: one value, or one per joint."""
    found: dict[str, FloatArray] = {}
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, equals, values = item.partition("=")
        try:
            found[name.strip()] = np.array([float(value) for value in values.split()])
        except ValueError:
            equals = ""
        if not equals or not len(found[name.strip()]):
            raise BadValue(
                f"friction parameters {item!r} must read name=value, several separated by ';'"
            )
    return {name: value[0] if len(value) == 1 else value for name, value in found.items()}
