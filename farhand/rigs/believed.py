"""Put an identified model into every arm of a rig that it fits: what controllers believe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from farhand.control.joint.assists import FrictionFeedForward
from farhand.control.tool.torque import TorqueController
from farhand.errors import Mismatch
from farhand.friction import make
from farhand.friction.compensation import FrictionCompensation
from farhand.torque.overlay import IdentifiedModel, read_model

if TYPE_CHECKING:
    from farhand.rigs.rig import Rig

MODEL = "model"
"""Path of the setting that names a file of ``farhand torque fit``."""

FRICTION_HELP = 0.7
"""Share of identified dry friction that is fed forward: friction varies by about the rest."""


def believe(rig: Rig, path: str) -> None:
    """Let observers, gravity compensation and laws of a rig use the model of a file.

    The simulated world stays as it is: it is the truth that the model is about.

    Raises:
        FarhandError: no arm of the rig has these joints, or it is no such file.
    """
    model = read_model(path)
    stations = rig.session.stations
    arms = {id(one.arm): one.arm for one in stations}
    for bridge in rig.session.bridges:
        # across a link each end has a model of the other side too
        remote = [end.remote.arm for end in (bridge.a, bridge.b)]
        arms |= {id(arm): arm for arm in remote if arm is not None}
    fitting = [arm for arm in arms.values() if model.fits(arm)]
    if not fitting:
        names = ", ".join(f"{one.arm.model.name} as {one.name}" for one in stations)
        raise Mismatch(
            f"the model of {model.robot} with {len(model.joints)} joints in {path} fits no arm of "
            f"rig {rig.name}, which has {names}"
        )
    for arm in fitting:
        model.apply(arm)
    for station in stations:
        controller = station.controller
        helped = isinstance(controller, TorqueController) and model.fits(station.arm)
        if isinstance(controller, TorqueController) and helped and controller.assist is None:
            controller.assist = _help(model, station.period_ns)


def _help(model: IdentifiedModel, period_ns: int) -> FrictionFeedForward | None:
    """Help against dry friction; viscous friction is the law's, by its model."""
    if not model.coulomb.any():
        return None
    friction = make("coulomb", len(model.joints), coulomb=model.coulomb)
    return FrictionFeedForward(FrictionCompensation(friction, gain=FRICTION_HELP), period_ns * 1e-9)
