"""The trust rule on rows that are read in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robula._types import FloatArray
from robula.models.large_model import LargeModel, Weigher


@dataclass(frozen=True, eq=False)
class StreamedTrust:
    """What was found."""

    weigher: Weigher
    theta: FloatArray
    share: float
    standard_error: float
    record: dict[str, Any]


def trust_by_passes(model: LargeModel, budget: float) -> StreamedTrust:
    """Find weights."""
    raise NotImplementedError
