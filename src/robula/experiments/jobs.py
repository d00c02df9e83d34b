"""One unit of work of an experiment: pure data, so that it can go to a worker process and into a file name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

#: What a job returns: rows for the table, and longer lists of numbers for the figures.
Outcome = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A call of a registered function.

    Attributes
    ----------
    kind : str
        Name of the function in :data:`robula.experiments.registry.WORK`.
    parameters : dict
        Its keyword arguments; only what JSON can hold.
    """

    kind: str
    parameters: dict[str, Any]

    @property
    def key(self) -> str:
        """A file name that no other job has: kind, the telling parameters, and a hash of all of them."""
        text = json.dumps([self.kind, self.parameters], sort_keys=True)
        words = [
            str(self.parameters[name])
            for name in ("dataset", "attack", "n_clean", "dim", "contamination", "flips", "run", "method", "reading")
            if name in self.parameters
        ]
        return "-".join([self.kind, *words, hashlib.sha256(text.encode()).hexdigest()[:10]])

    def run(self, work: dict[str, Callable[..., Outcome]]) -> Outcome:
        """Do it."""
        return work[self.kind](**self.parameters)
