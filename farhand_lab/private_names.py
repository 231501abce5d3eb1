"""Every private name of the library that the laboratory uses, and why.

A mutation breaks a part from inside, so it sometimes needs a name that the library is free to
change. All such names stand here: :func:`farhand_lab.mutation.patched` refuses others, and
``tests/lab/test_private_names.py`` names the entry that a change of the library removed. Then
adapt the entry and the mutation that uses it, or delete both.
"""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from farhand.errors import BadValue


@dataclass(frozen=True)
class PrivateName:
    """One private attribute of a module, of a class or of its instances."""

    module: str  #: such as ``"farhand.safety.guard"``
    name: str  #: ``"Class._attribute"``, or ``"_attribute"`` of the module itself
    why: str  #: what the laboratory does with it

    @property
    def attribute(self) -> str:
        """The private name without its class."""
        return self.name.rpartition(".")[2]

    def exists(self) -> bool:
        """Whether the library still has it, on the owner or as ``self._attribute`` in its code."""
        owner: Any = importlib.import_module(self.module)
        class_name, _, attribute = self.name.rpartition(".")
        if class_name:
            owner = getattr(owner, class_name, None)
        if owner is None or hasattr(owner, attribute):
            return owner is not None
        bases = [base for base in getattr(owner, "__mro__", ()) if base is not object]
        return any(f"self.{attribute}" in inspect.getsource(base) for base in bases)


TABLE = [
    # Methods and values that mutations replace
    PrivateName("farhand.console.things", "_lines", "leave one limit undrawn"),
    PrivateName("farhand.console.tuning", "Tuning._shown", "forms that pass no value on"),
    PrivateName("farhand.control.tool.direct_force", "DirectForce._SELECT", "wrong distribution"),
    PrivateName("farhand.control.tool.task", "PoseLoop._sign", "no boundary layer"),
    PrivateName("farhand.control.tool.task", "TaskController._begin_fade", "switch without fade"),
    PrivateName("farhand.control.tool.tracking", "TrackingController._solve", "extrapolate"),
    PrivateName("farhand.control.tool.tracking", "TrackingController._stop", "keep the velocity"),
    PrivateName("farhand.coupling.four_channel", "FourChannel._keep", "drop one force channel"),
    PrivateName("farhand.friction.velocity", "StateVariableFilter.prepare", "lower cut-off"),
    PrivateName("farhand.learning.performance", "Performance._at", "end the skill early"),
    PrivateName("farhand.learning.performance", "Performance._drift", "no search for contact"),
    PrivateName("farhand.link.layers.tdpa", "FollowerPort._allow", "spend energy without limit"),
    PrivateName("farhand.link.layers.tdpa", "LeaderPort._watch", "send no energy ahead"),
    PrivateName("farhand.link.layers.playout", "Playout._adapt", "act on the newest packet"),
    PrivateName("farhand.link.layers.waves", "WaveFollower._moved", "no impedance matching"),
    PrivateName("farhand.loop.bridges.linked", "LinkEnd._play", "hide the peer's command"),
    PrivateName("farhand.mapping.ik.published", "Newton._inverse", "transpose for inverse"),
    PrivateName("farhand.mapping.limbs", "ArmChain._branch", "the printed second angle"),
    PrivateName("farhand.mapping.limbs", "LegChain._turned", "flip a sign in the Jacobian"),
    PrivateName("farhand.mapping.pen", "PoseLimiter._translate", "wrong limit of speed"),
    PrivateName("farhand.mapping.pen", "PoseLimiter._turn", "wrong limit of turning"),
    PrivateName("farhand.plants.drivers.worker", "Latest._record", "publish without a copy"),
    PrivateName("farhand.plants.servo_bus.driver", "ServoDriver._note", "keep an old reading"),
    PrivateName("farhand.plants.servo_bus.simulated_bus", "SimulatedBus._index", "revive a servo"),
    PrivateName("farhand.plants.simulated.haptic", "HapticPlant._saturate", "no limit of force"),
    PrivateName("farhand.plants.simulated.haptic", "HapticPlant._warm", "motors stay cold"),
    PrivateName("farhand.plants.simulated.one_joint", "OneJoint._driven", "add the offset twice"),
    PrivateName("farhand.plants.simulated.one_joint", "OneJoint._noise", "noise that is always on"),
    PrivateName("farhand.plants.simulated.port", "SimulatedPlant._next_noise", "forget the seed"),
    PrivateName("farhand.plants.simulated.rigid", "RigidPlant._zoh", "an Euler step"),
    PrivateName("farhand.plants.simulated.velocity", "VelocityPlant._take", "slow drives"),
    PrivateName("farhand.rigs.cooperative.guiding", "Centred._note_pose", "ignore the rotation"),
    PrivateName("farhand.rigs.cooperative.guiding", "Lifted._triggered", "any push triggers"),
    PrivateName("farhand.rigs.cooperative.jobs", "FollowerCarry._ramp", "no pre-load"),
    PrivateName("farhand.rigs.youbot.startup", "YoubotStartup._all_off", "leave the motors on"),
    PrivateName("farhand.rigs.youbot.startup", "YoubotStartup._unconnected", "skip the port check"),
    PrivateName("farhand.safety.guard", "Guard._trip", "limits that stop nothing"),
    PrivateName("farhand.safety.handle", "JointWall._push", "a wall with the wrong damper"),
    PrivateName("farhand.sensing.conditioner", "Conditioner._usable", "a flag that does not latch"),
    # State that broken methods and experiments look at
    PrivateName("farhand.arm", "Arm._frame", "time the bare rigid-body calls"),
    PrivateName("farhand.console.tuning", "Tuning._inputs", "value shown in a form"),
    PrivateName(
        "farhand.control.tool.direct_force", "DirectForce._by_least_norm", "the wrong choice"
    ),
    PrivateName("farhand.friction.models.maxwell", "Gms._shares", "slip of every element"),
    PrivateName("farhand.friction.models.maxwell", "Gms._springs", "slip of every element"),
    PrivateName("farhand.link.layers.tdpa", "FollowerPort._started", "know the first packet"),
    PrivateName("farhand.link.layers.waves", "WavePort._wave", "double the wave"),
    PrivateName("farhand.loop.session", "Session._tick", "time one tick"),
    PrivateName("farhand.loop.station", "Station._commanded", "compensate less gravity"),
    PrivateName("farhand.mapping.pen", "_about", "turn in another order"),
    PrivateName("farhand.plants.drivers.worker", "Latest._number", "publish without a copy"),
    PrivateName("farhand.plants.drivers.worker", "Latest._producer", "publish without a copy"),
    PrivateName("farhand.plants.simulated.one_joint", "OneJoint._rng", "noise that is always on"),
    PrivateName("farhand.plants.simulated.port", "SimulatedPlant._rng", "forget the seed"),
    PrivateName("farhand.plants.wrappers.filtered", "SmoothedPlant._kalman", "start again"),
    PrivateName("farhand.plants.wrappers.wrapped", "WrappedPlant._plant", "feed the rig's wrist"),
    PrivateName("farhand.rigs.cooperative.guiding", "Centred._forces", "ignore the rotation"),
    PrivateName("farhand.rigs.cooperative.guiding", "Centred._moments", "ignore the rotation"),
    PrivateName("farhand.rigs.cooperative.jobs", "FollowerCarry._bleed", "no pre-load"),
    PrivateName("farhand.rigs.youbot.startup", "YoubotStartup._last", "judge the mean error"),
    PrivateName("farhand.sensing.conditioner", "Conditioner._biased", "tare only once"),
    PrivateName("farhand.sensing.conditioner", "Conditioner._taken", "tare only once"),
    PrivateName("farhand.world.ledger", "Ledger._books", "count work with a wrong velocity"),
    PrivateName("farhand.world.ledger", "Ledger._nv", "count work with a wrong velocity"),
]

_LISTED = {(entry.module, entry.name) for entry in TABLE}


def require_listed(target: Any, attribute: str) -> None:
    """Refuse a private attribute of the library that is not in the table.

    Raises:
        BadValue: the attribute is private, belongs to the library and is not listed.
    """
    if not attribute.startswith("_") or attribute.startswith("__"):
        return
    if isinstance(target, ModuleType):
        module, name = target.__name__, attribute
    else:
        owner = target if isinstance(target, type) else type(target)
        module, name = owner.__module__, f"{owner.__qualname__}.{attribute}"
    if module.split(".")[0] == "farhand" and (module, name) not in _LISTED:
        raise BadValue(f"{module}: {name} is private; list it in farhand_lab/private_names.py")
