"""What a run leaves in ``posterior.settings``: what was asked for, what was chosen, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from robula._version import __version__
from robula.kernels.kernel import Kernel
from robula.models.law import ModelWithLaw
from robula.models.model import Model
from robula.models.regression import Regression
from robula.result.law_fit import law_record
from robula.run.assembly import Assembly
from robula.run.collector import Collected
from robula.run.descriptions import class_path
from robula.run.setup import Setup
from robula.run.step_pair import StepBias
from robula.selectors.selection import Selector


def record_of_run(
    model: Model, parts: Assembly, setup: Setup, collected: Collected, step_size_from: str, measured: StepBias | None
) -> dict[str, Any]:
    """Settings of a run as plain values, but for its time, its seed and its start."""
    moving, adapted = parts.adapted.kernel, parts.adapted
    last_step = float(collected.stats["step_size"][:, -1].mean())
    acceptance = collected.stats.get("acceptance")
    return {
        "model": type(model).__name__,
        "rows": model.n_rows,
        "dim": model.dim,
        "contamination": parts.contamination,
        "contamination_budget": parts.budget,
        "contamination_estimate": None if parts.estimate is None else parts.estimate._asdict(),
        "selector": repr(parts.selector),
        "selector_class": class_path(type(parts.selector)),
        "last_level_share": parts.selector.last_level_share(parts.contamination, model.dim),
        "rows_found": parts.selector.record,
        "law_source": model.law_source if isinstance(model, ModelWithLaw) else None,
        "response_kind": model.response_kind if isinstance(model, ModelWithLaw) else None,
        **_record_of_the_law(model, collected),
        "dims": {name: list(names) for name, names in model.variable_dims.items()},
        "coords": {name: list(labels) for name, labels in model.variable_coords.items()},
        "kernel": repr(parts.kernel),
        "kernel_class": class_path(type(parts.kernel)),
        "kernel_from": "auto" if setup.kernel == "auto" else "given",
        "step_size": last_step,
        "step_size_from": step_size_from,
        "step_bias": None if measured is None else measured._asdict(),
        "adjusted": parts.kernel.needs_density,
        "independent": parts.kernel.independent,
        "acceptance": None if acceptance is None else float(acceptance.mean()),
        "smoothness": parts.centre.smoothness,
        "strong_convexity": parts.centre.strong_convexity,
        "variance_inflation": moving.variance_inflation(last_step, adapted.smoothness),
        "relaxation_steps": moving.relaxation_steps(last_step, adapted.strong_convexity),
        "likelihood_rows": setup.likelihood_rows,
        "draws": setup.draws,
        "burn_in": setup.burn_in,
        "chains": setup.chains,
        "thin": setup.thin,
        "refresh_every": setup.refresh_every,
        "guard": setup.guard,
        "interrupted": collected.interrupted,
        "robula": __version__,
        "setup": setup.to_dict(),
    }


def _record_of_the_law(model: Model, collected: Collected) -> dict[str, Any]:
    """How the trusted rows fit the law at the mean of the draws, where they have one and the draws are numbers."""
    mean = collected.draws.reshape(-1, model.dim).mean(axis=0)
    if not isinstance(model, ModelWithLaw) or not np.isfinite(mean).all():
        return {}
    if isinstance(model, Regression) and not model.in_memory:
        # It looks at all rows at once, and a memory map is never copied whole.
        return {}
    return law_record(model, mean, collected.row_weights)


def was_of(settings: Mapping[str, Any], part: Literal["kernel", "selector"], kind: type[Kernel | Selector]) -> bool:
    """Whether the kernel or selector of a finished run was of this very class."""
    recorded = settings.get(f"{part}_class")
    if recorded is None:
        # A posterior stored before runs recorded it, or one whose draws no kernel made.
        return str(settings.get(part)).startswith(f"{kind.__name__}(")
    return bool(recorded == class_path(kind))


def record_of_seed(root: np.random.SeedSequence) -> Any:
    """The seed as a number, or with its place where it was spawned."""
    entropy = root.entropy if isinstance(root.entropy, int) else str(root.entropy)
    return [entropy, list(root.spawn_key)] if root.spawn_key else entropy
