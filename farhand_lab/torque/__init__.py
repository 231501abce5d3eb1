"""Arms held out from ``farhand torque``: logs with known causes, and how the answers are judged."""
