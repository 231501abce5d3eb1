"""Sensing: from the raw counts of a force/torque sensor to the wrench of a contact, and a simulated sensor."""

from farhand.sensing.calibration import Calibration, calibrate
from farhand.sensing.conditioner import Conditioner
from farhand.sensing.profile import Handle, Load, Mounting, SensorProfile, load_handle, load_sensor
from farhand.sensing.sensor import ForceSensor

__all__ = [
    "Calibration",
    "Conditioner",
    "ForceSensor",
    "Handle",
    "Load",
    "Mounting",
    "SensorProfile",
    "calibrate",
    "load_handle",
    "load_sensor",
]
