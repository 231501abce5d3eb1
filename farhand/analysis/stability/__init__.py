"""Stability of a sampled bilateral loop along one axis: predicted from the law's own code, and found by simulation."""

from farhand.analysis.stability.loop import Contact, Loop, LoopTool
from farhand.analysis.stability.passive import passive_stiffness
from farhand.analysis.stability.sampled_law import SampledLaw, sample_law
from farhand.analysis.stability.spectrum import largest_stable, stable

__all__ = [
    "Contact",
    "Loop",
    "SampledLaw",
    "LoopTool",
    "largest_stable",
    "passive_stiffness",
    "sample_law",
    "stable",
]
