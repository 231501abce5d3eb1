"""A rig as a Gymnasium environment: the agent is the hand, the bilateral loop runs inside.

Needs ``pip install 'farhand[gym]'``. The policy here walks straight to the goal.
"""

from __future__ import annotations

import gymnasium
import numpy as np

import farhand.gym  # noqa: F401  registers the environments

env = gymnasium.make("farhand/dual-arm-v0")
observation, info = env.reset(seed=1)
total = 0.0
for _ in range(200):
    to_goal = observation["goal"] - observation["follower.position_tool_in_world"]
    action = np.clip(2.0 * to_goal, env.action_space.low, env.action_space.high)
    observation, reward, terminated, truncated, info = env.step(action)
    total += float(reward)
    if terminated or truncated:
        break
print(f"return {total:.3f} m, reached the goal: {terminated}")
env.close()
