"""A simulated Universal Robots controller: RTDE, dashboard and script ports of a MuJoCo arm."""
