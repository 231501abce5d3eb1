"""Control of the tool: poses, wrenches and trajectories become joint commands."""
