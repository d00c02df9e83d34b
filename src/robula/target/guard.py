"""How long a drift may be where the curvature has no global bound."""

from __future__ import annotations

import math

_MULTIPLE = 10.0


def drift_limit(smoothness: float, dim: int) -> float:
    """Return ten times the largest root-mean-square length that the drift has under the posterior.

    In a posterior with density exp(-f) the mean of |grad f|^2 is the mean trace of the Hessian (integrate by parts),
    at most L d where L is the largest curvature. |grad f|^2 / L is at most a sum of d squared standard normals for a
    Gaussian posterior, so a length of 10 sqrt(L d) is reached with probability below exp(-40 d): the guard is silent
    in the bulk.
    """
    return _MULTIPLE * math.sqrt(smoothness * dim)
