"""The user's own model back, with weighted rows: for any other sampler, optimiser or variational fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from robula._types import FloatArray
from robula.exceptions import InputError
from robula.integrations.jax_model import JaxModel
from robula.integrations.jax_rows import RowsModel
from robula.models.model import Model
from robula.tables.arrays import as_vector


def weighted(model: Model, weights: Any) -> Any:
    """Return the user's own model in which each row counts as much as it is trusted.

    :func:`robula.sample` draws from its posterior, and widens the draws by the doubt about which rows are bad.

    Parameters
    ----------
    model : Model
        Made by ``from_numpyro``, ``from_pymc`` or ``from_jax``.
    weights : Posterior, Trust or array-like, shape (n,)
        A result of :func:`robula.sample` or :func:`robula.trust`, or the weights themselves, at least 0.

    Returns
    -------
    callable or pymc.Model
        A NumPyro model with the same arguments; a copy of the PyMC model with a potential; for ``from_jax``, the log
        posterior density as a function of the parameters, in JAX.

    Examples
    --------
    >>> import numpyro, robula  # doctest: +SKIP
    >>> found = robula.trust(robula.from_numpyro(line, x, y), contamination=0.1)  # doctest: +SKIP
    >>> robust_line = robula.weighted(robula.from_numpyro(line, x, y), found)  # doctest: +SKIP
    >>> mcmc = numpyro.infer.MCMC(numpyro.infer.NUTS(robust_line), num_warmup=500, num_samples=500)  # doctest: +SKIP
    """
    if not isinstance(model, RowsModel | JaxModel):
        raise InputError(
            f"weighted gives the model of a PPL back, and {type(model).__name__} has none: pass what from_numpyro, "
            "from_pymc or from_jax made. robula.sample draws from the weighted posterior of any model."
        )
    given = getattr(weights, "row_weights", getattr(weights, "weights", weights))
    rows: FloatArray = np.array(as_vector(given, "weights", model.n_rows))
    if (rows < 0).any():
        raise InputError(f"weights has {int((rows < 0).sum())} negative value(s); weights must be >= 0.")
    return model.log_density(rows) if isinstance(model, JaxModel) else model.reweigh(rows)
