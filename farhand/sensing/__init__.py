"""Force sensing: from raw counts to the wrench of a contact, calibration, simulated sensors."""

from farhand.sensing.arc import ArcResult, calibration_arc, identify_arc, identify_yaw
from farhand.sensing.compensation import Compensated, compensate
from farhand.sensing.conditioner import Conditioner, ContactDetector
from farhand.sensing.drift import DriftTracker
from farhand.sensing.identification import Identification, identify
from farhand.sensing.kalman import ScalarKalman, VectorKalman
from farhand.sensing.loads import (
    FrameCheck,
    ToolInertia,
    check_frame,
    identify_body,
    inertial_wrench,
)
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
from farhand.sensing.simulated import ForceSensor, GaugeSensor, NoiseModel
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
