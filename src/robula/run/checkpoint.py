"""Checkpoints: a run that is killed goes on from its last one, and draws the same bits as if nothing had happened.

A checkpoint is one file: a line with format, version and SHA-256, then a NumPy archive of plain arrays and a JSON
manifest. It is written beside its place, flushed to disk and renamed, so there is always a whole one.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from robula._files import whole_file
from robula._validation import check_positive, show
from robula._version import __version__
from robula.exceptions import InputError
from robula.kernels.kernel import State
from robula.run.collector import Collector
from robula.run.driver import Step
from robula.run.setup import Setup
from robula.target.robust_target import RobustTarget

_FORMAT, _FORMAT_VERSION = b"robula-checkpoint", 1
_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds_of(every: str | float) -> float:
    """Return an interval such as "60s", "5m", "1h" or 30.0 (seconds) in seconds."""
    if isinstance(every, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*(s|m|min|h)\s*", every)
        if not found or found[1].count(".") > 1 or not any(digit.isdigit() for digit in found[1]):
            raise InputError(f'checkpoint_every={show(every)} is not an interval: pass "60s", "5m", "1h" or seconds.')
        return float(found[1]) * _UNITS[found[2]]
    return check_positive(every, "checkpoint_every", "the seconds between two checkpoints")


@dataclass(frozen=True)
class Snapshot:
    """What a checkpoint holds: the setup, the number of steps made, generators, and arrays by name."""

    setup: Setup
    number: int
    generators: list[Any]
    seconds_between: float
    arrays: Mapping[str, np.ndarray]

    def part(self, prefix: str) -> dict[str, np.ndarray]:
        """Arrays of one part of the run."""
        return {name.removeprefix(prefix): values for name, values in self.arrays.items() if name.startswith(prefix)}

    @property
    def state(self) -> State:
        """The kernel's state."""
        memory = self.part("memory:")
        return State(self.arrays["theta"], tuple(memory[str(index)] for index in range(len(memory))))

    def restore(self, rngs: Sequence[np.random.Generator], target: RobustTarget, collector: Collector) -> None:
        """Bring generators, target and collector to where they were."""
        for rng, state in zip(rngs, self.generators, strict=True):
            rng.bit_generator.state = state
        target.restore(self.part("target:"))
        collector.restore(self.part("kept:"), target.chosen)


@dataclass
class Checkpoints:
    """Writes the checkpoints of one run to ``path``, at most every ``seconds``.

    Parameters
    ----------
    path : Path
    seconds : float
    resumed : Snapshot, optional
        Where the run goes on from; without one, a file that is already there is refused.
    """

    path: Path
    seconds: float
    resumed: Snapshot | None = None
    _last: float = field(default_factory=time.monotonic)

    def begin(self, setup: Setup) -> None:
        """Refuse to start where the checkpoint could not be written, or would take the place of another run's."""
        if self.resumed is not None:
            differing = differences(self.resumed.setup, setup)
            if differing:
                raise InputError(
                    f"{str(self.path)!r} is a checkpoint of another run ({'; '.join(differing)}): repeat that run's "
                    "settings to go on with it, or remove it."
                )
            return
        if not self.path.parent.is_dir():
            raise InputError(f"cannot write {str(self.path)!r}: the folder {str(self.path.parent)!r} does not exist.")
        if self.path.exists():
            differing = differences(read_checkpoint(self.path).setup, setup)
            what = f"of another run ({'; '.join(differing)})" if differing else "of this very run"
            raise InputError(
                f"{str(self.path)!r} is there already, a checkpoint {what}: go on with robula.resume(path, model), or "
                "remove it."
            )

    def writer(
        self,
        setup: Setup,
        steps: int,
        rngs: Sequence[np.random.Generator],
        target: RobustTarget,
        collector: Collector,
    ) -> Callable[[Step], None]:
        """Return what is to be called after each step: it writes a checkpoint if one is due, and after the last."""

        def after(step: Step) -> None:
            if step.number == steps or time.monotonic() - self._last >= self.seconds:
                self._write(step, setup, rngs, target, collector)
                self._last = time.monotonic()

        return after

    def _write(
        self,
        step: Step,
        setup: Setup,
        rngs: Sequence[np.random.Generator],
        target: RobustTarget,
        collector: Collector,
    ) -> None:
        arrays = {"theta": step.state.theta}
        arrays |= {f"memory:{index}": values for index, values in enumerate(step.state.memory)}
        arrays |= {f"target:{name}": values for name, values in target.state().items()}
        arrays |= {f"kept:{name}": values for name, values in collector.state(target.chosen).items()}
        manifest = {
            "robula": __version__,
            "setup": setup.to_dict(),
            "number": step.number,
            "seconds_between": self.seconds,
            "generators": [rng.bit_generator.state for rng in rngs],
        }
        write_checkpoint(self.path, manifest, arrays)


def checkpoints_at(path: Path, every: str | float = "60s") -> Checkpoints:
    """Checkpoints of a run that goes on from the one at ``path``, if there is one."""
    return Checkpoints(path, seconds_of(every), read_checkpoint(path) if path.exists() else None)


def differences(one: Setup, two: Setup) -> list[str]:
    """Say in what two setups differ, one short clause each."""
    found = one.model.differences(two.model)
    mine, other = one.to_dict(), two.to_dict()
    names = [name for name in mine if name != "model" and mine[name] != other[name]]
    return found + [f"{name} {show(mine[name])} against {show(other[name])}" for name in names]


def write_checkpoint(path: Path, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint; whatever happens, a whole one is at ``path`` if there was one before."""
    buffer = io.BytesIO()
    np.savez(buffer, manifest=np.array(json.dumps(manifest)), **arrays)  # type: ignore[arg-type]
    payload = buffer.getbuffer()
    header = b"%s %d %s\n" % (_FORMAT, _FORMAT_VERSION, hashlib.sha256(payload).hexdigest().encode())
    with whole_file(path) as file:
        file.write(header)
        file.write(payload)


def read_checkpoint(path: str | os.PathLike[str]) -> Snapshot:
    """Read a checkpoint; refuse a damaged one, and one of another version of robula."""
    name = os.fspath(path)
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no checkpoint {name!r}.") from None
    except OSError as error:
        raise InputError(f"{name!r} cannot be read ({error}).") from None
    header, _, payload = content.partition(b"\n")
    words = header.split(b" ")
    if words[0] != _FORMAT or len(words) != 3:
        raise InputError(f"{name!r} is not a checkpoint of robula.sample.")
    if words[1] != str(_FORMAT_VERSION).encode():
        raise InputError(
            f"{name!r} has format {words[1].decode(errors='replace')}; this robula reads {_FORMAT_VERSION}."
        )
    if hashlib.sha256(payload).hexdigest().encode() != words[2]:
        raise InputError(f"{name!r} is damaged: its content does not have the hash that it says.")
    with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files if key != "manifest"}
        manifest = json.loads(str(archive["manifest"]))
    if manifest["robula"] != __version__:
        raise InputError(
            f"{name!r} was written by robula {manifest['robula']}, this is {__version__}: the rest of the run would "
            "not be that of the beginning. Install that version to go on."
        )
    setup = Setup.from_dict(manifest["setup"])
    return Snapshot(setup, manifest["number"], manifest["generators"], manifest["seconds_between"], arrays)
