"""Find the robust centre of a posterior, by the search that fits its size."""

from __future__ import annotations

import numpy as np

from robula.exceptions import InputError
from robula.models.model import Model
from robula.selectors.selector import Selector
from robula.target.centre_search import RobustCentre, robust_centre
from robula.target.large_centre import large_centre


def find_centre(model: Model, selector: Selector, contamination: float, likelihood_rows: str) -> RobustCentre:
    """Return a robust centre, or refuse a posterior that has none."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            begin = model.initial if selector.centre is None else selector.centre
            search = robust_centre if model.dense_curvature else large_centre
            centre = search(model, selector, contamination, likelihood_rows, begin)
        except np.linalg.LinAlgError:
            centre = None
    if centre is None or not (0 < centre.smoothness < np.inf and np.isfinite(centre.theta).all()):
        raise InputError(
            "no centre of the posterior was found: its curvature there is not a positive number. "
            "Bring the columns to ordinary scales, pass a proper prior, or (from_jax) another init."
        )
    return centre
