"""All that defines a run, as one frozen record that JSON can hold; enough to repeat it bit for bit."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from typing import Any, Literal, TypeVar

import numpy as np

from robula._types import FloatArray
from robula._validation import check_count
from robula._version import __version__
from robula.exceptions import InputError
from robula.kernels.kernel import Kernel
from robula.models.fingerprint import ModelIdentity, identity
from robula.models.model import Model
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
        Class and parameters (:mod:`robula.run.setup`).
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


def seed_of_random_state(random_state: Any) -> int:
    """Return the seed a scikit-learn ``random_state`` stands for."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InputError(f"random_state={random_state} must be at least 0.")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


Described = TypeVar("Described", Selector, Kernel)


class Undescribable(Exception):
    """An object is more than its class and parameters; the message says why."""


def describe(value: Any) -> Any:
    """Return a selector or kernel as JSON data: its class and its parameters, each described likewise.

    A dataclass has its fields as parameters, any other class must take none. An object that cannot be made again from
    that is described by its ``repr`` and the reason; :func:`build` refuses it.
    """
    try:
        found = _describe(value)
        if json.dumps(_state(_build(found))) != json.dumps(_state(value)):
            raise Undescribable("it holds more than its parameters say")
    except Undescribable as reason:
        return {"repr": repr(value), "not_repeatable": str(reason)}
    return found


def build(description: Any, kind: type[Described], name: str) -> Described:
    """Return the object that was described, or refuse."""
    if isinstance(description, dict) and "not_repeatable" in description:
        raise InputError(
            f"the run used {description['repr']}, which cannot be made again ({description['not_repeatable']}): "
            f"pass it as {name}= to repeat the run."
        )
    try:
        made = _build(description)
    except Undescribable as reason:
        raise InputError(f"the {name} of the run cannot be made again: {reason}.") from None
    if not isinstance(made, kind):
        raise InputError(f"the stored {name} is a {type(made).__name__}, not a {kind.__name__.lower()}.")
    return made


def _describe(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_describe(item) for item in value]
    if not isinstance(value, Selector | Kernel):
        raise Undescribable(f"a {type(value).__name__} is among its parameters")
    kind = type(value)
    path = class_path(kind)
    if "<locals>" in path or _find(path) is not kind:
        raise Undescribable(f"its class {kind.__qualname__} is not found by its name")
    return {"class": path, "parameters": {name: _describe(getattr(value, name)) for name in _parameters(kind)}}


def class_path(kind: type) -> str:
    """Return the name of a class with that of its module, by which runs record it."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _parameters(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.init] if dataclasses.is_dataclass(kind) else []


def _state(value: Any) -> Any:
    """Everything an object holds, as far as it can be told."""
    if isinstance(value, Selector | Kernel):
        return {name: _state(item) for name, item in sorted(vars(value).items())}
    if isinstance(value, tuple | list):
        return [_state(item) for item in value]
    return repr(value)


def _build(description: Any) -> Any:
    if isinstance(description, list):
        return tuple(_build(item) for item in description)
    if not isinstance(description, dict):
        return description
    if set(description) != {"class", "parameters"}:
        raise Undescribable(f"{sorted(description)} is not a description")
    kind = _find(description["class"])
    if not (isinstance(kind, type) and issubclass(kind, Selector | Kernel)):
        raise Undescribable(f"{description['class']} is neither a selector nor a kernel")
    try:
        return kind(**{name: _build(value) for name, value in description["parameters"].items()})
    except (TypeError, ValueError) as error:
        raise Undescribable(f"{kind.__name__} refused its own parameters ({error})") from error


def _find(path: str) -> Any:
    """Return the class at "module:Class"; a description may not make Python import what it has not imported."""
    module, _, qualname = str(path).partition(":")
    if module.split(".")[0] == "robula":
        try:
            import_module(module)
        except ImportError:
            raise Undescribable(f"this robula has no {module}") from None
    if module not in sys.modules:
        raise Undescribable(f"import {module} first: it defines {qualname}")
    found: Any = sys.modules[module]
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found
