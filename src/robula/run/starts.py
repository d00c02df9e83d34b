"""Where the chains start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robula._types import FloatArray
from robula.models.model import Model
from robula.models.posterior_mode import inverse_factor, weighted_precision
from robula.selectors.selector import Selector
from robula.target.centre_search import RobustCentre


def draw_start(
    rngs: Sequence[np.random.Generator],
    model: Model,
    selector: Selector,
    contamination: float,
    centre: RobustCentre,
    variance: float | None,
) -> tuple[FloatArray, str]:
    """Return the start of each chain (c, d) and words for the record.

    alg:rula draws theta_0 ~ N(0, beta I), beta = 1 / L unless ``variance`` is given. A model-aware selector has found
    the posterior already: the chains then start around it, as spread out as it is.
    """
    if selector.centre is not None and variance is None:
        weights = selector.select_rows(model, centre.theta, contamination).weights
        factor = inverse_factor(weighted_precision(model, weights, centre.theta))
        first = np.stack([centre.theta + factor @ rng.standard_normal(model.dim) for rng in rngs])
        return first, "normal, around the robust centre with the covariance of the trusted rows' posterior"
    middle = model.initial if selector.centre is None else centre.theta
    variance = 1.0 / centre.smoothness if variance is None else variance
    first = np.stack([middle + np.sqrt(variance) * rng.standard_normal(model.dim) for rng in rngs])
    return first, f"normal, variance {variance:.6g}"
