"""All that defines a run, as one frozen record that JSON can hold; enough to repeat it bit for bit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from robula._types import FloatArray
from robula._validation import check_count
from robula._version import __version__
from robula.exceptions import InputError
from robula.kernels.kernel import Kernel
from robula.models.fingerprint import ModelIdentity, identity
from robula.models.model import Model
from robula.run.descriptions import build
from robula.run.step_choice import StepFor, StepSize
from robula.selectors.selection import Selector

#: Fields that are keywords of robula.sample as they stand.
_AS_THEY_ARE = (
    "contamination",
    "likelihood_rows",
    "draws",
    "burn_in",
    "chains",
    "thin",
    "refresh_every",
    "start",
    "start_variance",
    "guard",
)


@dataclass(frozen=True)
class Setup:
    """What a run is made of; two runs of equal setups give the same bits.

    Attributes
    ----------
    model : ModelIdentity
    selector : dict
        Class and parameters (:mod:`robula.run.descriptions`).
    kernel : dict or "auto"
        As it was asked for; ``posterior.settings["kernel"]`` says which one "auto" was.
    step : dict
        ``{"rule": "default"}``, ``{"rule": "given", "sizes": [...]}`` (one number, or one a step) or
        ``{"rule": "bias", "bias": ...}``.
    contamination : float or "estimate"
    likelihood_rows : str
    draws, burn_in, chains, thin : int
    refresh_every : int or "auto"
    start : list of list of float, or None
        One row a chain.
    start_variance : float or None
    guard : bool
    seed : dict
        ``entropy``, ``spawn_key`` and ``pool_size`` of a ``numpy.random.SeedSequence``.
    robula : str
        Version.
    """

    model: ModelIdentity
    selector: Any
    kernel: Any
    step: Mapping[str, Any]
    contamination: float | Literal["estimate"]
    likelihood_rows: str
    draws: int
    burn_in: int
    chains: int
    thin: int
    refresh_every: int | Literal["auto"]
    start: Any
    start_variance: float | None
    guard: bool
    seed: Mapping[str, Any]
    robula: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """Return the setup as data that JSON can hold."""
        data: dict[str, Any] = json.loads(json.dumps({**asdict(self), "model": self.model._asdict()}))
        return data

    def to_json(self) -> str:
        """Return the setup as JSON."""
        return json.dumps(self.to_dict(), indent=1)

    @classmethod
    def from_dict(cls, data: Any) -> Setup:
        """Read what :meth:`to_dict` made."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != names:
            raise InputError("this is not the setup of a run: pass posterior.setup, or what Setup.to_json wrote.")
        try:
            model = ModelIdentity(**{**data["model"], "parameter_names": tuple(data["model"]["parameter_names"])})
        except (TypeError, KeyError) as error:
            raise InputError(f"the setup says nothing sound about its model ({error}).") from None
        return cls(**{**data, "model": model})

    @classmethod
    def from_json(cls, text: str) -> Setup:
        """Read what :meth:`to_json` wrote."""
        try:
            return cls.from_dict(json.loads(text))
        except json.JSONDecodeError as error:
            raise InputError(f"this is not JSON ({error}).") from None

    def require(self, model: Model) -> None:
        """Refuse a model that is not the one of the run, and say what differs."""
        differing = self.model.differences(identity(model))
        if differing:
            raise InputError(
                f"this is not the model of the run (run against model): {'; '.join(differing)}. Pass the model that "
                "was sampled."
            )

    def arguments(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the keywords of :func:`robula.sample` that repeat the run, ``given`` ones in place of its own.

        A selector or kernel that cannot be made again is refused, unless it is given.
        """
        given = dict(given or {})
        own: dict[str, Any] = {name: getattr(self, name) for name in _AS_THEY_ARE}
        own["seed"] = seed_of(self.seed)
        own["step_size"] = step_of(self.step)
        if "selector" not in given:
            own["selector"] = build(self.selector, Selector, "selector")  # type: ignore[type-abstract]
        if "kernel" not in given:
            own["kernel"] = "auto" if self.kernel == "auto" else build(self.kernel, Kernel, "kernel")  # type: ignore[type-abstract]
        return {**own, **given}


def describe_step(step_size: StepSize, sizes: FloatArray | None) -> dict[str, Any]:
    """Return a step size as data; ``sizes`` are those of all steps, where they were given."""
    if isinstance(step_size, StepFor):
        return {"rule": "bias", "bias": step_size.bias}
    if sizes is None:
        return {"rule": "default"}
    constant = bool((sizes == sizes[0]).all())
    return {"rule": "given", "sizes": float(sizes[0]) if constant else sizes.tolist()}


def step_of(step: Mapping[str, Any]) -> StepSize:
    """Return the ``step_size`` argument that was described."""
    if step["rule"] == "bias":
        return StepFor(bias=step["bias"])
    return None if step["rule"] == "default" else step["sizes"]


def describe_seed(root: np.random.SeedSequence) -> dict[str, Any]:
    """Return a seed as data."""
    entropy: Any = root.entropy
    entropy = list(map(int, entropy)) if isinstance(entropy, list | tuple | np.ndarray) else int(entropy or 0)
    return {"entropy": entropy, "spawn_key": list(root.spawn_key), "pool_size": root.pool_size}


def seed_of(seed: Mapping[str, Any]) -> np.random.SeedSequence:
    """Return the seed that was described."""
    return np.random.SeedSequence(seed["entropy"], spawn_key=tuple(seed["spawn_key"]), pool_size=seed["pool_size"])


def seed_sequence(seed: Any) -> np.random.SeedSequence:
    """Return a fresh sequence of a seed: spawning must not change the caller's object."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    return np.random.SeedSequence(check_count(seed, "seed", 0, maximum=None))
