"""The environments: Gymnasium's own checker passes, and the same seed gives the same episode to the
bit.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import farhand.gym  # noqa: E402, F401
from farhand.errors import BadValue, Mismatch, UnknownName  # noqa: E402
from farhand.rigs import rig_names  # noqa: E402
from farhand.tasks import TASKS  # noqa: E402

HANDLESS = "cooperative"  # arms that carry by themselves


def test_a_rig_without_a_hand_says_so():
    """In one line, not by a missing key."""
    with pytest.raises(Mismatch, match="no hand"):
        gymnasium.make(f"farhand/{HANDLESS}-v0")


@pytest.mark.parametrize("name", [name for name in rig_names() if name != HANDLESS])
def test_every_rig_passes_gymnasiums_own_checker(name):
    """Without a warning."""
    env = gymnasium.make(f"farhand/{name}-v0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


@pytest.fixture
def env():
    made = gymnasium.make("farhand/dual-arm-v0").unwrapped
    yield made
    made.close()


def episode(env, seed: int, steps: int = 12) -> list[dict[str, np.ndarray]]:
    """Observations of an episode with the same actions."""
    found, rng = [env.reset(seed=seed)[0]], np.random.default_rng(1)
    return found + [env.step(rng.uniform(-0.2, 0.2, 3))[0] for _ in range(steps)]


def test_the_same_seed_gives_the_same_episode_to_the_bit(env):
    """And another seed gives another one: noise and goal differ."""
    one, two, other = episode(env, 3), episode(env, 3), episode(env, 4)
    for a, b in zip(one, two, strict=True):
        assert all(np.array_equal(a[key], b[key]) for key in a)
    assert any(not np.array_equal(one[-1][key], other[-1][key]) for key in one[-1])


def test_the_hand_leads_the_follower_to_the_goal_through_the_coupling(env):
    """Pulling the hand straight towards the goal ends the episode there, with rewards that grow on
    the way.
    """
    observation, info = env.reset(seed=5)
    rewards, done, truncated = [], False, False
    while not (done or truncated):
        away = observation["goal"] - observation["follower.position_tool_in_world"]
        observation, reward, done, truncated, info = env.step(np.clip(3.0 * away, -0.2, 0.2))
        rewards.append(reward)
    assert done and info["distance"] < 0.005 and not info["trips"]
    assert rewards[-1] > rewards[0]


def test_every_number_has_a_unit(env):
    """As many units as numbers, for observations and actions."""
    sizes = {name: space.shape[0] for name, space in env.observation_space.spaces.items()}
    assert {name: len(units) for name, units in env.units.items()} == sizes | {"action": 3}
    assert env.units["leader.wrench_measured_in_world"] == ["N"] * 3 + ["N·m"] * 3


def test_a_rate_that_makes_no_sense_is_refused():
    """One line, with the limits."""
    with pytest.raises(BadValue, match="rate = 0 Hz"):
        farhand.gym.RigEnv("dual-arm", rate=0.0)


@pytest.mark.parametrize(
    "action", [np.full(3, np.nan), [np.inf, 0.0, 0.0], 0.1, np.zeros(2), np.zeros((1, 3)), "up"]
)
def test_an_action_that_is_not_three_numbers_is_refused_and_the_next_one_still_moves_the_hand(
    env, action
):
    """One NaN used to stay in the hand's place: every later action was refused where nobody
    looked.
    """
    env.reset(seed=1)
    with pytest.raises(BadValue, match="three"):
        env.step(action)
    env.step(np.array([0.2, 0.0, 0.0]))
    np.testing.assert_allclose(env.rig.parts.hand.drag, [0.004, 0.0, 0.0])


def test_the_hand_stays_within_what_it_may_be_dragged_and_turns_back_at_once(env):
    """Beyond its range it used to stand still in silence, and to be dragged back as long as it had
    been dragged on.
    """
    env.reset(seed=1)
    env._drag = np.array([1.999, 0.0, 0.0])
    env.step(np.array([0.2, 0.0, 0.0]))
    hand = env.rig.parts.hand
    assert hand.drag[0] == 2.0
    env.step(np.array([-0.2, 0.0, 0.0]))
    np.testing.assert_allclose(hand.drag[0], 1.996)


def test_a_step_without_an_episode_says_what_is_missing(env):
    """Before the first reset, and after close; a reset opens it again."""
    with pytest.raises(Mismatch, match="reset"):
        env.step(np.zeros(3))
    env.reset(seed=1)
    env.close()
    with pytest.raises(Mismatch, match="reset"):
        env.step(np.zeros(3))
    env.reset(seed=1)
    env.step(np.zeros(3))


@pytest.mark.parametrize("name", ["peg", "pick"])
def test_a_task_passes_gymnasiums_own_checker(name):
    """Without a warning; the force at the follower's wrist is observed."""
    env = gymnasium.make(f"farhand/{name}-v0")
    assert "follower.wrench_measured_in_world" in env.observation_space.spaces
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize("action", [np.zeros(3), [0.0, 0.0, 0.0, np.nan], [[0.0], 0.0, 0.0, 0.0]])
def test_an_action_without_a_number_for_the_jaws_is_refused(action):
    """Not a number used to open them."""
    env = gymnasium.make("farhand/pick-v0").unwrapped
    env.reset(seed=1)
    with pytest.raises(BadValue, match="and the jaws"):
        env.step(action)
    env.close()


def test_an_unknown_task_is_named_with_those_there_are():
    """As on the command line."""
    with pytest.raises(UnknownName, match="unknown task 'peg-v0'"):
        farhand.gym.TaskEnv("peg-v0")


def test_every_task_is_known_to_gymnasium():
    """By its name."""
    assert {f"farhand/{name}-v0" for name in TASKS} <= set(gymnasium.registry)


def test_an_expert_does_a_task_and_is_rewarded():
    """Through the same actions as any agent."""
    env = gymnasium.make("farhand/button-v0")
    env.reset(seed=1)
    act, total, over = farhand.gym.expert(env), 0.0, False
    while not over:
        _, reward, over, late, info = env.step(act())
        total += reward
        over = over or late
    env.close()
    assert info["success"] and 0.0 < total < 1.0
    assert info["peak_force"] > 5.0


def test_an_expert_for_no_task_is_refused(env):
    """In one line, not by a missing attribute."""
    env.reset(seed=1)
    with pytest.raises(Mismatch, match="for tasks only"):
        farhand.gym.expert(env)
