"""Seventh stage: what a run leaves behind."""

from robula.result.posterior import Posterior
from robula.result.storage import load

__all__ = ["Posterior", "load"]
