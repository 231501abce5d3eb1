"""Experiments are found, run and judged."""

from __future__ import annotations

import json

import numpy as np
import pytest

from farhand.errors import BadValue, UnknownName
from farhand_lab import harness, parallel
from farhand_lab.harness import Experiment, Finding, commit, judge

TOY = """
@experiment("T-10")
def tenth(): return Finding(10.0, ok=False, note="ten is more than one")

@experiment("T-2")
def free_motion(): return Finding(0.2, ok=True)
"""

TRACKING = Experiment(
    *("D-30", "Tracking", "dual-arm", "tracking", "mm", "< 1 mm", "a thesis"),
    lambda: Finding(0, True),
    path=("farhand.arm",),
    configuration="without friction",
)


def test_a_met_criterion_is_a_pass():
    """The measured value comes with its unit, criterion and source."""
    entry = judge(TRACKING, Finding(0.25, ok=True))
    assert entry.to_json() == {
        "id": "D-30",
        "title": "Tracking",
        "value": 0.25,
        "unit": "mm",
        "criterion": "< 1 mm",
        "verdict": "pass",
        "source": "a thesis",
        "note": "",
        "path": ["farhand.arm"],
        "configuration": "without friction",
        "commit": commit(),
    }


def test_a_corrected_criterion_points_to_the_errata():
    """The derivation must be findable, or the correction is just a loosened criterion."""
    assert (
        judge(TRACKING, Finding(2.0, ok=True, corrected=True, note="errata §3")).verdict
        == "corrected"
    )
    with pytest.raises(BadValue, match="dual-arm/D-30"):
        judge(TRACKING, Finding(2.0, ok=True, corrected=True, note="the author erred"))


@pytest.mark.parametrize("corrected", [False, True])
def test_a_missed_criterion_differs_and_says_by_how_much(corrected):
    """Correcting a criterion does not excuse missing the corrected one."""
    entry = judge(
        TRACKING, Finding(2.0, ok=False, corrected=corrected, note="friction is left out")
    )
    assert (entry.verdict, entry.note) == ("differs", "friction is left out; measured 2.0 mm")


def test_a_miss_without_a_cause_says_so():
    """An empty note would hide that nobody looked."""
    assert judge(TRACKING, Finding(2.0, ok=False)).note == "cause not known; measured 2.0 mm"


def test_a_finding_may_state_its_own_unit():
    """The unit of the finding wins over the declared one."""
    assert judge(TRACKING, Finding(2.0, ok=True, unit="µm")).unit == "µm"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float64(1 / 3), 0.333333),
        (np.bool_(True), True),
        (np.array(7), 7),
        (-0.0, 0.0),
        ("stable", "stable"),
    ],
)
def test_values_become_plain_python_with_six_digits(value, plain):
    """Six digits survive a change of machine; the type survives JSON."""
    entry = judge(TRACKING, Finding(value, ok=True))
    assert entry.value == plain and type(entry.value) is type(plain)
    assert json.loads(json.dumps(entry.to_json(), allow_nan=False))["value"] == plain


def test_not_a_number_never_passes():
    """A simulation that blew up met no criterion, whatever the comparison said."""
    assert judge(TRACKING, Finding(float("nan"), ok=True)).verdict == "differs"
    assert judge(TRACKING, Finding(float("inf"), ok=True)).value == "inf"


def test_an_array_is_refused_as_a_value():
    """One id has one value."""
    with pytest.raises(BadValue, match="dual-arm/D-30 returned ndarray"):
        judge(TRACKING, Finding(np.zeros(3), ok=True))


def test_ids_are_listed_by_rig_in_counting_order(write_rig):
    """T-2 comes before T-10."""
    write_rig("toy_arm", TOY)
    write_rig("toy_leg", "")
    assert harness.names() == {"toy-arm": ["T-2", "T-10"], "toy-leg": []}


def test_an_id_without_a_feature_is_refused(write_rig):
    """The message lists the ids that the rig's features.toml has."""
    write_rig("toy_arm", "@experiment('T-13')\ndef f(): return Finding(1.0, True)\n")
    with pytest.raises(UnknownName, match="T-12"):
        harness.names()


@pytest.mark.parametrize(
    ("selections", "ids"),
    [
        ((), ["T-2", "T-10"]),
        (("toy-arm",), ["T-2", "T-10"]),
        (("toy-arm/T-10",), ["T-10"]),
        (("toy-arm/free-motion",), ["T-2"]),
        (("T-10",), ["T-10"]),
        (("T-10", "T-2", "toy-arm/T-10"), ["T-10", "T-2"]),
    ],
)
def test_selections_name_rigs_ids_or_experiments(write_rig, selections, ids):
    """Only the selected experiments run, each once."""
    write_rig("toy_arm", TOY)
    assert [entry.id for entry in harness.run(*selections)] == ids


@pytest.mark.parametrize(
    "selection", ["toy-am", "toy-arm/T-1", "toy-arm/", "harness", "../errors", ""]
)
def test_an_unknown_selection_lists_what_there_is(write_rig, selection):
    """A typing error is answered with the names that would have been right."""
    write_rig("toy_arm", TOY)
    with pytest.raises(UnknownName, match="available: (toy-arm|T-10, T-2, free-motion, tenth)"):
        harness.run(selection)


def test_an_experiment_that_ends_in_an_error_differs(write_rig):
    """The reason is in the note, and the other experiments still run."""
    write_rig("toy_arm", TOY + "@experiment('T-1')\ndef f(): raise OutOfRange('gain', 9, 0, 1)\n")
    entries = harness.run("toy-arm")
    assert [entry.id for entry in entries] == ["T-1", "T-2", "T-10"]
    assert entries[0].to_json()["value"] is None
    assert (entries[0].verdict, entries[0].note) == ("differs", "gain = 9 is outside [0, 1]")


def test_a_programming_error_is_not_a_verdict(write_rig):
    """A bug in an experiment must be seen, not reported as physics."""
    write_rig("toy_arm", "@experiment('T-1')\ndef f(): return 1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        harness.run("toy-arm")


def test_one_function_serves_several_ids_and_runs_once(write_rig):
    """Each id has its own title and criterion, and takes its own finding."""
    body = """
calls = []
@experiment("T-1", "T-2")
def both():
    calls.append(1)
    return {"T-1": Finding(1.0, True), "T-2": Finding(2.0, False)}
"""
    write_rig("toy_arm", body)
    rise, fall = harness.run("toy-arm/both")
    assert (rise.title, rise.value, rise.verdict) == ("Title of T-1", 1.0, "pass")
    assert (fall.title, fall.value, fall.verdict) == ("Title of T-2", 2.0, "differs")
    assert len(harness.module_of("toy-arm").calls) == 1


@pytest.mark.parametrize("result", ["{'T-7': Finding(1.0, True)}", "None", "[]"])
def test_a_result_without_the_id_is_refused(write_rig, result):
    """An id never vanishes in silence."""
    write_rig("toy_arm", f"@experiment('T-1')\ndef f(): return {result}\n")
    with pytest.raises(BadValue, match="toy-arm/T-1 returned no finding"):
        harness.run("toy-arm")


def test_an_id_is_registered_only_once(write_rig):
    """Two experiments under one id would hide each other."""
    write_rig("toy_arm", TOY + TOY)
    with pytest.raises(BadValue, match="toy-arm/T-10 is registered twice"):
        harness.names()


def test_a_shared_run_is_done_once_until_cleared(write_rig):
    """Experiments that look at the same run do not repeat it."""
    body = """
calls = []
@shared
def lift(): calls.append(1); return 0.5
@experiment("T-1")
def one(): return Finding(lift(), True)
@experiment("T-2")
def two(): return Finding(lift(), True)
"""
    write_rig("toy_arm", body)
    harness.run("toy-arm")
    assert len(harness.module_of("toy-arm").calls) == 1
    harness.clear_shared()
    harness.run("toy-arm")
    assert len(harness.module_of("toy-arm").calls) == 2


def test_the_seed_decides_the_noise_even_through_shared_runs(write_rig):
    """Equal seeds give equal results; another seed gives another result and leaves no trace."""
    body = """
@shared
def noise(): return generator("sensor").normal()
@experiment("T-1")
def one(): return Finding(noise(), True)
"""
    write_rig("toy_arm", body)
    values = [harness.run("toy-arm", seed=seed)[0].value for seed in (0, 1, 0)]
    assert values[0] == values[2] != values[1]
    assert harness.generator("a").random() != harness.generator("b").random()


def test_rigs_side_by_side_give_the_results_of_one_after_the_other(write_rig):
    """To the bit, in the same order, with one count of what is done."""
    body = """
@experiment("T-1")
def one(): return Finding(generator("sensor").normal(), True)
@experiment("T-2")
def two(): return Finding(generator("motor").normal(), False)
"""
    for name in ("toy_arm", "toy_leg", "toy_hand"):
        write_rig(name, body)
    alone = [entry.to_json() for entry in harness.run(seed=3)]
    counts = []
    entries = parallel.run(
        progress=lambda done, total, label: counts.append((done, total)),
        seed=3,
        plots=False,
        finished={},
    )
    assert [entry.to_json() for entry in entries] == alone
    assert len(alone) == 6
    assert counts == sorted(counts) and counts[-1] == (6, 6)


def test_progress_counts_ids_and_ends_at_the_total(write_rig):
    """A progress bar needs to know what is next and when it is over."""
    write_rig("toy_arm", TOY)
    seen = []
    harness.run("toy-arm", progress=lambda done, total, label: seen.append((done, total, label)))
    assert seen == [(0, 2, "toy-arm/T-2"), (1, 2, "toy-arm/T-10"), (2, 2, "")]


def test_entries_are_kept_before_the_runs_of_their_rig_are_cleared(write_rig):
    """Figures are drawn while their data exists; progress counts all rigs."""
    body = """
calls = []
@shared
def lift(): calls.append(1); return 0.5
@experiment("T-1")
def one(): return Finding(lift(), True)
"""
    write_rig("toy_arm", body)
    runs, reports = [], []

    def keep(entries: list[harness.Entry]) -> list[harness.Entry]:
        module = harness.module_of("toy-arm")
        module.lift()
        runs.append(len(module.calls))
        return entries

    entries = harness.run(
        "toy-arm", progress=lambda done, total, _: reports.append((done, total)), keep=keep
    )
    harness.module_of("toy-arm").lift()
    assert runs == [1] and len(harness.module_of("toy-arm").calls) == 2
    assert [entry.id for entry in entries] == ["T-1"] and reports == [(0, 1), (1, 1)]


def test_every_registered_rig_is_named_after_its_module():
    """An experiment with a misspelt group would never be run."""
    assert set(harness.names()) >= set(harness._registry)
