"""Sensing: from the raw counts of a force/torque sensor to the wrench of a contact, and a simulated sensor."""

from farhand.sensing.arc import ArcResult, calibration_arc, identify_arc, identify_yaw
from farhand.sensing.compensation import Compensated, compensate
from farhand.sensing.conditioner import Conditioner
from farhand.sensing.contact import ContactDetector
from farhand.sensing.drift import DriftTracker
from farhand.sensing.gauges import GaugeSensor
from farhand.sensing.grasped import FrameCheck, check_frame
from farhand.sensing.identification import Identification, identify
from farhand.sensing.inertial import ToolInertia, identify_body, inertial_wrench
from farhand.sensing.kalman import ScalarKalman, VectorKalman
from farhand.sensing.noise import NoiseModel
from farhand.sensing.observer import MomentumObserver
from farhand.sensing.profile import (
    HandleLoad,
    Load,
    Mounting,
    SensorProfile,
    load_handle,
    load_sensor,
)
from farhand.sensing.readings import Readings, read_readings, write_readings
from farhand.sensing.sensor import ForceSensor
from farhand.sensing.thermal import ThermalLine, Thermometer, Warming, common_slope, fit_line
from farhand.sensing.tool import Thermal, ToolCalibration, load_tool

__all__ = [
    "ToolInertia",
    "ArcResult",
    "Compensated",
    "Conditioner",
    "ContactDetector",
    "DriftTracker",
    "ForceSensor",
    "GaugeSensor",
    "FrameCheck",
    "HandleLoad",
    "Identification",
    "ThermalLine",
    "Load",
    "MomentumObserver",
    "Mounting",
    "NoiseModel",
    "Readings",
    "ScalarKalman",
    "SensorProfile",
    "Thermal",
    "Thermometer",
    "ToolCalibration",
    "VectorKalman",
    "Warming",
    "calibration_arc",
    "check_frame",
    "common_slope",
    "compensate",
    "fit_line",
    "identify",
    "identify_arc",
    "identify_body",
    "identify_yaw",
    "inertial_wrench",
    "load_handle",
    "load_sensor",
    "load_tool",
    "read_readings",
    "write_readings",
]
