"""A simulated Universal Robots controller: RTDE, dashboard and script ports in front of an arm in MuJoCo."""
