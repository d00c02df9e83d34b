"""Where a NumPyro model's chains begin: unconstrained values of its latent sites, and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from robula.integrations.jax_support import x64
from robula.integrations.numpyro_sites import RowSites, no_start


def initial_point(jax: Any, model: Any, arguments: Callable[[Any], Any]) -> Callable[..., dict[str, Any]]:
    """Return a function of data that gives the medians of the priors where those have a density.

    It is compiled once, as a whole: operation by operation it takes several times as long. ``arguments`` makes the
    model's own out of data.
    """
    from numpyro.infer import init_to_median
    from numpyro.infer.util import initialize_model

    def find(key: Any, data: Any) -> Any:
        args, kwargs = arguments(data)
        return initialize_model(
            key,
            model,
            init_strategy=init_to_median(num_samples=15),
            model_args=args,
            model_kwargs=kwargs,
            dynamic_args=False,
        ).param_info

    compiled = jax.jit(find)

    def start(data: Any, trace: Any, rows: RowSites) -> dict[str, Any]:
        with x64(jax):
            found = compiled(jax.random.PRNGKey(0), data)
            if not all(np.isfinite(leaf).all() for leaf in jax.tree_util.tree_leaves(found)):
                raise no_start(jax, trace, rows)
        return dict(found.z)

    return start


def moved_names(jax: Any, model: Any, args: Any, kwargs: Any, start: dict[str, Any]) -> dict[str, str]:
    """Names of the unconstrained parameters: where NumPyro transforms a site, another name than the user's."""
    from numpyro.infer.util import constrain_fn

    with x64(jax):
        constrained = constrain_fn(model, args, kwargs, start)
    kept = {name for name in start if np.array_equal(start[name], constrained[name])}
    return {name: name if name in kept else f"{name}_unconstrained__" for name in start}
