"""Arms of smart servos on one serial bus: Feetech STS and HLS, Dynamixel X."""
