"""What every model offers to the stages after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from robula._types import ArrayInput, BoolArray, FloatArray
from robula._validation import show
from robula.exceptions import InputError
from robula.models.priors import FlatPrior, NormalPrior, Prior

#: Axes of the variables of a regression that has more than its coefficients; the labels are ``parameter_names``.
COEFFICIENTS: Mapping[str, tuple[str, ...]] = MappingProxyType({"coefficients": ("coefficient",)})


class Model(ABC):
    """One likelihood term per row, and a prior.

    ``theta`` always has shape (..., d), where the leading axes are a batch of chains; every gradient is of the *log*
    likelihood (the paper's g_i is its negative).

    Attributes
    ----------
    n_rows, dim : int
        Number of rows n and of parameters d.
    prior : Prior
    parameter_names : tuple of str
    row_weights : ndarray, shape (n,), or None
        How often each row counts, in every sum over rows; None is once each.
    """

    #: What the command line and the registry MODELS call it; None for a model that is not taken by name.
    name: ClassVar[str | None] = None

    #: Whether gradients(theta) = gradients(0) + gradient_shift(theta): the same shift for every row, so that a
    #: translation-equivariant selection made once is exact for ever.
    gradients_translate: ClassVar[bool] = False

    #: Whether the log-likelihood is quadratic in theta: with a normal or flat prior the posterior is then normal,
    #: whatever the rows count.
    quadratic: ClassVar[bool] = False

    #: Whether the gradients of clean rows are skewed at the truth, so that a truncated mean of them is biased.
    skewed_gradients: ClassVar[bool] = False

    n_rows: int
    dim: int
    prior: Prior
    parameter_names: tuple[str, ...]
    row_weights: FloatArray | None = None

    @property
    def posterior_is_normal(self) -> bool:
        """Whether the posterior is normal, whatever the rows count."""
        return self.quadratic and isinstance(self.prior, NormalPrior | FlatPrior)

    def counted(self, weights: FloatArray) -> FloatArray:
        """Weights (..., n) of the rows times how often each of them counts."""
        return weights if self.row_weights is None else weights * self.row_weights

    @abstractmethod
    def log_likelihood(self, theta: FloatArray) -> FloatArray:
        """Log-likelihood of each row, shape (..., n)."""

    @abstractmethod
    def gradients(self, theta: FloatArray) -> FloatArray:
        """Gradient of each row's log-likelihood, shape (..., n, d)."""

    @abstractmethod
    def weighted_gradient(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Sum of the rows' gradients, each times its weight, without forming the (n, d) matrix.

        Sums over rows, here and below, count each row as often as ``row_weights`` says. The leading axes of ``theta``
        (..., d) and ``weights`` (..., n) broadcast; the result is (..., d).
        """

    def weighted_log_likelihood_and_gradient(
        self, theta: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sum of the rows' log-likelihoods (..., ) and of their gradients (..., d), each row times its weight (n,).

        A row of weight 0 counts nothing, even where it is impossible.
        """
        return weighted_sum(self.log_likelihood(theta), self.counted(weights)), self.weighted_gradient(theta, weights)

    @abstractmethod
    def curvature(self, theta: FloatArray, weights: FloatArray) -> FloatArray:
        """Negative Hessian of the weighted log-likelihood at one theta (d,), shape (d, d)."""

    def curvature_bound(self, weights: FloatArray) -> FloatArray | None:
        """Return a matrix (d, d) that dominates :meth:`curvature` for every theta, or None if there is none."""
        return None

    @property
    def dense_curvature(self) -> bool:
        """Whether a (d, d) matrix of curvature can be afforded; if not, only products with it are used."""
        return True

    def gradient_shift(self, theta: FloatArray) -> FloatArray:
        """The common shift of all gradients from 0 to theta, for models whose gradients translate."""
        raise NotImplementedError(f"the gradients of {type(self).__name__} are not translations of each other")

    def posterior_derivatives(self, theta: FloatArray, weights: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log posterior of weighted rows at theta (d,), its gradient and negative Hessian.

        A model whose functions cost more to call than to compute has them in one go.
        """
        value = float(weighted_sum(self.log_likelihood(theta), self.counted(weights)) + self.prior.log_density(theta))
        slope = self.weighted_gradient(theta, weights) + self.prior.gradient(theta)
        return value, slope, self.curvature(theta, weights) + self.prior.precision(theta)

    def compressed(self, weights: FloatArray) -> tuple[Model, FloatArray] | None:
        """Return a model of few rows and their weights with the very likelihood of the rows so weighted (n,).

        None where there is none.
        """
        return None

    def take(self, rows: np.ndarray) -> Model:
        """Return the model of these rows only (places, shape (m,)), with the same parameters and prior."""
        raise NotImplementedError(f"{type(self).__name__} cannot be restricted to some of its rows; write take()")

    @property
    def initial(self) -> FloatArray:
        """Where the search for a centre begins and the default start is drawn around, shape (d,); 0 as in the paper."""
        return np.zeros(self.dim)

    def variables(self, draws: FloatArray) -> dict[str, FloatArray]:
        """Return draws (chains, draws, d) under the model's own names and shapes; empty where theta is all there is."""
        return {}

    #: ArviZ's names of the axes of :meth:`variables`, and their labels, where the model has them.
    variable_dims: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    variable_coords: Mapping[str, Sequence[Any]] = MappingProxyType({})

    @property
    def hyperparameters(self) -> BoolArray:
        """Parameters (d,) that rows depend on only through others, such as the scale of group effects; none here."""
        return np.zeros(self.dim, dtype=np.bool_)

    def own_kernel(self, counts: FloatArray, burn_in: int) -> Any:
        """Return a kernel for the posterior in which row i counts ``counts[i]`` times, better than robula's; or None.

        Parameters
        ----------
        burn_in : int
            Steps in which it may adapt.
        """
        return None

    @property
    def observed_data(self) -> dict[str, np.ndarray]:
        """The data that the likelihood is of, by name, rows along the first axis; empty where it is not known."""
        return {}

    def check_theta(self, theta: ArrayInput) -> FloatArray:
        """Return ``theta`` as a float64 array of shape (..., d)."""
        array = np.asarray(theta, dtype=np.float64)
        if not array.ndim or array.shape[-1] != self.dim:
            raise InputError(f"theta has shape {array.shape}; its last axis must have {self.dim} entries.")
        return array


def require_model(model: object, *others: type) -> None:
    """Refuse what is neither a model nor of another kind that the caller takes."""
    if not isinstance(model, (Model, *others)):
        raise InputError(
            f"model={show(model)} is not a robula model; make one with LinearModel or another of robula.models, or "
            "with from_numpyro, from_pymc or from_jax from a model of your own."
        )


def weighted_sum(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Sum of values (..., n) times weights (n,); a weight of 0 also takes away what is infinite."""
    with np.errstate(invalid="ignore"):
        total: FloatArray = values @ weights
    if np.isnan(total).any():
        total = np.where(weights > 0, values, 0.0) @ weights
    return total


def default_names(names: Sequence[str] | None, dim: int) -> tuple[str, ...]:
    """Return column names made unique, or "0", "1", ... where there are none."""
    if names is None:
        return tuple(str(index) for index in range(dim))
    return unique_names(names)


def unique_names(names: Sequence[str], taken: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names, with ".2", ".3", ... behind those that came before or are taken."""
    used = {*taken, *names}
    seen = set(taken)
    unique = []
    for name in names:
        candidate, count = name, 1
        while candidate in seen or (count > 1 and candidate in used):
            count += 1
            candidate = f"{name}.{count}"
        seen.add(candidate)
        unique.append(candidate)
    return tuple(unique)


def known_name(parameter: str, variables: Collection[str]) -> str:
    """Return the name by which the user knows a parameter, as the summary has it.

    What NumPyro and PyMC sample in another space has their ending ("sigma_log__"), and its entries are no longer those
    of the user's variable: that variable's name stands for all of them.
    """
    whole = parameter.partition("[")[0]
    known = [name for name in variables if whole.startswith(f"{name}_") and whole.endswith("__")]
    return parameter if whole in variables or not known else max(known, key=len)
