"""A law of your own: a spring between the tools whose pull never exceeds a limit.

Run it here, or on any rig: ``farhand run dual-arm --law examples.own_law:BoundedSpring --headless``
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import farhand as fh
from farhand.coupling import SpringCoupling, register


@dataclass
class BoundedSpring(SpringCoupling):
    """Position–position coupling with a bounded force on the follower."""

    name = "bounded-spring"
    properties = frozenset({"reciprocal", "velocity-force-port"})

    largest: float = fh.parameter(20.0, "N", "largest pull of the spring", 0.1, 1000.0)

    def step(self, a: fh.Side, b: fh.Side, dt: float) -> tuple[fh.Effort, fh.Effort]:
        """Pull the tools together; what one side feels, the other feels in reverse."""
        self.measure(a, b)
        on_b = self.spring.pull(self.error, self.rate)
        size = float(np.linalg.norm(on_b[:3]))
        if size > self.largest:
            on_b[:3] *= self.largest / size
        on_a = np.zeros(6)
        self.mapping.back(on_b, out=on_a)
        return a.effort(-on_a), b.effort(on_b)


if __name__ == "__main__":
    register(BoundedSpring)
    rig = fh.build_rig("dual-arm", fh.Options(law="bounded-spring", scenario="press"))
    rig.session.run(4.0, rig.metrics.pull)
    for name in ("tracking_error_max", "contact_force_max", "hand_force_max"):
        metric = rig.metrics.result()[name]
        print(f"{name}: {metric['value']:.3g} {metric['unit']}")
    rig.close()
