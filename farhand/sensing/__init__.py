"""Sensing: from the raw counts of a force/torque sensor to the wrench of a contact, and a simulated sensor."""

from farhand.sensing.calibration import Calibration, calibrate
from farhand.sensing.compensation import Compensated, compensate
from farhand.sensing.conditioner import Conditioner
from farhand.sensing.drift import DriftTracker
from farhand.sensing.identification import Identification, identify
from farhand.sensing.profile import Handle, Load, Mounting, SensorProfile, load_handle, load_sensor
from farhand.sensing.readings import Readings, read_readings, write_readings
from farhand.sensing.sensor import ForceSensor
from farhand.sensing.tool import Thermal, Tool, load_tool

__all__ = [
    "Calibration",
    "Compensated",
    "Conditioner",
    "DriftTracker",
    "ForceSensor",
    "Handle",
    "Identification",
    "Load",
    "Mounting",
    "Readings",
    "SensorProfile",
    "Thermal",
    "Tool",
    "calibrate",
    "compensate",
    "identify",
    "load_handle",
    "load_sensor",
    "load_tool",
    "read_readings",
    "write_readings",
]
