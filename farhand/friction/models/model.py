"""The interface of all friction models, n joints at once.

A model is a dataclass whose parameters carry unit and bounds. It is driven by velocity:
:meth:`Friction.step` advances its state over one time step and returns the resisting torque at the
end. The update is exact or implicit in the state, so the step may be as long as the plant's,
however stiff the model is. :mod:`farhand.friction.models.implicit` couples a model to an inertia
just as safely.
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
ForceAndState = tuple[Array, Array]


@dataclass(kw_only=True)
class Friction(ABC):
    """A friction model of ``joints`` joints; a parameter is one number for all, or one for each."""

    name: ClassVar[str]  #: on the command line
    needs_applied: ClassVar[bool] = False  #: whether the torque at rest needs the applied torque
    order: ClassVar[int] = 0  #: internal states per joint

    joints: int = 1  #: number of joints, [-]
    #: internal state, ``order`` × ``joints``; empty for a static model
    state: Array = dataclasses.field(init=False, repr=False)

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

    def step(self, velocity: Array, dt: float, applied: Array | None = None) -> Array:
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
    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """Torque and state at the end of :meth:`step`; does not change the state."""

    def steady(self, velocity: Any) -> Array:
        """Torque at constant velocity, [N·m]; last axis: joints; any shape for one joint."""
        v = np.asarray(velocity, dtype=float)
        curve = self.curve(v)
        return curve.reshape(v.shape) if self.joints == 1 else curve

    @abstractmethod
    def curve(self, velocity: Array) -> Array:
        """The steady-state curve, broadcast against the parameters, [N·m]."""

    def quick(self, velocity: Array) -> Array:
        """The curve at control rate, one velocity per joint, [N·m]; may come from a table."""
        return self.curve(velocity)

    @property
    def stored(self) -> Array:
        """Energy in the model's springs that it can give back, [J]."""
        return np.zeros(self.joints)

    @property
    def hold(self) -> tuple[Array, Array] | None:
        """Range of torque that dry friction balances at rest, [N·m]; None if continuous."""
        return None

    def _spread(self, field: str, value: Any) -> Array:
        try:
            return np.array(np.broadcast_to(np.asarray(value, dtype=float), (self.joints,)))
        except (TypeError, ValueError):
            raise BadValue(f"{self.name}.{field} = {value} takes {one_or(self.joints)}") from None


class StaticFriction(Friction):
    """A model without state: the curve F(v), and at rest any torque between its limits."""

    def move(self, velocity: Array, dt: float, applied: Array | None) -> ForceAndState:
        """The curve, and at rest the applied torque as far as dry friction goes."""
        force = self.curve(velocity)
        hold = self.hold
        if applied is not None and hold is not None:
            force = np.where(velocity == 0.0, np.clip(applied, *hold), force)
        return force, self.state


def per_joint(model: type[Friction]) -> list[str]:
    """Names of a model's parameters that each joint has one of."""
    declared = (f for f in dataclasses.fields(model) if "unit" in f.metadata)
    return [f.name for f in declared if isinstance(f.default, float)]


FRICTIONS: dict[str, type[Friction]] = {}
"""Every model by its name on the command line."""

M = TypeVar("M", bound=type[Friction])


def register(model: M) -> M:
    """Make a model known by its name; usable as a decorator."""
    if FRICTIONS.get(model.name, model) is not model:
        raise BadValue(f"friction model {model.name!r} already exists; give yours another name")
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


def read_parameters(text: str) -> dict[str, Array]:
    """Read text such as ``"coulomb=0.5 0.4;viscous=0.1"``: one value, or one per joint."""
    parameters: dict[str, Array] = {}
    for item in filter(None, (part.strip() for part in text.split(";"))):
        name, _, numbers = item.partition("=")
        try:
            values = np.array([float(number) for number in numbers.split()])
        except ValueError:
            values = np.zeros(0)
        if not len(values):
            raise BadValue(
                f"friction parameters {item!r} must read name=value, several separated by ';'"
            )
        parameters[name.strip()] = values[0] if len(values) == 1 else values
    return parameters
