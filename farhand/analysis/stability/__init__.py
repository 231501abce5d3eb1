"""Stability of a sampled bilateral loop: predicted from the law's own code, or simulated."""

from farhand.analysis.stability.limits import passive_stiffness
from farhand.analysis.stability.loop import Contact, Loop, LoopTool
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
