"""The reproductions of published results: one module or package per rig, and the harness that runs and judges them."""
