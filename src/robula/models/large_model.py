"""A model of rows that are read in blocks: some rows in memory, and sums over all of them by passes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from robula._types import ArrayInput, FloatArray
from robula._validation import check_count, show
from robula.exceptions import InputError
from robula.models.law import ModelWithLaw
from robula.models.linear_model import LinearModel
from robula.models.mean_model import MeanModel
from robula.models.model import Model, weighted_sum
from robula.models.multinomial_model import MultinomialModel
from robula.models.priors import Prior
from robula.models.regression import Regression
from robula.tables.row_source import ArraySource, Block, RowSource, Sums, is_dask, source_of

#: Rows that are read into memory: to search for bad rows in, and to check the data as any model does.
SAMPLE_ROWS = 50_000
# Numbers that the linear predictors of many thetas may take at a time.
_MOST_PREDICTORS = 2**21

Result = TypeVar("Result")
#: Row weights (b,) of a block, or None where every row counts in full; it travels to where the rows are.
Weigher = Callable[[ModelWithLaw], FloatArray] | None


class LargeModel:
    """A regression or mean whose rows need not fit in memory, for :func:`robula.sample` and :func:`robula.trust`.

    Parameters
    ----------
    kind : class
        ``LinearModel``, ``LogisticModel``, ``PoissonModel`` or ``MeanModel``.
    X : Dask array or frame, numpy.memmap, array, or RowSource
        Shape (n, p). Blocks of rows are read again in every pass.
    y : the same kind, optional
        Shape (n,); not for ``MeanModel``.
    seed : int, optional
        Of the sample of rows that is read into memory.
    **options
        Of the model: ``noise_scale``, ``prior``, ``intercept``, ``covariance``.

    Attributes
    ----------
    sample : Model
        The model of ``min(n, 50 000)`` rows, drawn without replacement, in memory.
    places : ndarray
        Which rows these are.
    n_rows, dim, prior, parameter_names
        As of any model.

    Examples
    --------
    >>> import numpy as np, robula
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = robula.LargeModel(robula.LinearModel, X, X @ [1.0, 2.0], noise_scale=1.0)
    >>> model.n_rows, model.in_memory
    (500, True)
    """

    def __init__(
        self, kind: type[Model], X: ArrayInput, y: ArrayInput = None, *, seed: int = 0, **options: Any
    ) -> None:
        if not (isinstance(kind, type) and issubclass(kind, Regression | MeanModel)) or kind is MultinomialModel:
            raise InputError(
                f"kind={show(kind)} cannot be fitted by passes; allowed are MeanModel and regressions of numbers, "
                "counts and two classes."
            )
        of_rows = {"offset", "exposure", "row_weights"} & set(options)
        if of_rows:
            raise InputError(f"{sorted(of_rows)[0]} cannot be given for rows that are read in blocks.")
        source = source_of(X, y).look()
        regression = issubclass(kind, Regression)
        if source.rows < 2:
            raise InputError(f"there are {source.rows} rows; 2 or more are needed.")
        self.classes: tuple[Any, ...] = ()
        if regression and kind.response_kind == "label":
            self.classes = _two(source.labels)
            source = source.shaped(partial(with_coded_labels, self.classes))
        places = sample_places(source.rows, check_count(seed, "seed", 0))
        rows = source.take(places)
        features: Any = rows.X
        if source.names is not None:
            import pandas as pd  # a third of a second, for named columns only

            features = pd.DataFrame(rows.X, columns=list(source.names))
        if regression and rows.y is None:
            raise InputError(f"{kind.__name__} needs y, one response a row.")
        make: Any = kind
        self._set(source, make(features, *([rows.y] if regression else []), **options), places)

    @staticmethod
    def can_be(model: Regression) -> bool:
        """Whether a regression is of rows that are not in memory, and nothing else that has an entry for each row."""
        plain = model.offset is None and model.row_weights is None and not isinstance(model, MultinomialModel)
        return plain and not model.in_memory

    @classmethod
    def of(cls, model: Regression, seed: int = 0) -> LargeModel:
        """Return a model, of a memory map say, as one that is fitted in passes."""
        source = ArraySource(model.rows_as_given, model.y).look()
        places = sample_places(source.rows, seed)
        return cls.with_sample(source, model.take(places), places)

    @classmethod
    def with_sample(cls, source: RowSource, sample: ModelWithLaw, places: np.ndarray) -> LargeModel:
        """Return the model of all rows of a source, from the model of those at some places."""
        large = object.__new__(cls)
        large.classes = ()
        large._set(source.look(), sample, places)
        return large

    def _set(self, source: RowSource, sample: ModelWithLaw, places: np.ndarray) -> None:
        self.source, self.n_rows = source, source.rows
        self.sample, self.places = sample, places
        self._empty = sample.take(np.arange(2))

    @property
    def in_memory(self) -> bool:
        """Whether the sample is all rows, in their order: then nothing needs a pass."""
        return len(self.places) == self.n_rows

    @property
    def dim(self) -> int:
        """Number of parameters d."""
        return self.sample.dim

    @property
    def prior(self) -> Prior:
        """The prior."""
        return self.sample.prior

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.sample.parameter_names

    def sum(self, function: Callable[[ModelWithLaw], Sums]) -> Sums:
        """One pass: the sum of what a function returns for the model of each block."""
        return self.source.sum(partial(_of_block, self._empty, function, ()))

    def map(self, function: Callable[[ModelWithLaw], Result]) -> Iterator[Result]:
        """One pass: what a function returns for the model of each block, in the order of the rows."""
        results = self.source.map(partial(_of_block, self._empty, function, None))
        return (result for result in results if result is not None)

    def newton_sums(self, theta: FloatArray, weigher: Weigher) -> tuple[float, float, FloatArray, FloatArray]:
        """One pass: sum of weights, log-likelihood, gradient (d,) and curvature (d, d) of the weighted rows."""
        return cast(tuple[float, float, FloatArray, FloatArray], self.sum(partial(_newton_sums, theta, weigher)))

    def log_likelihoods(self, thetas: FloatArray, weigher: Weigher) -> FloatArray:
        """One pass: log-likelihood (k,) of the weighted rows at many thetas (k, d)."""
        return cast(FloatArray, self.sum(partial(_log_likelihoods, thetas, weigher))[0])

    def compressed(self, weigher: Weigher) -> tuple[ModelWithLaw, FloatArray]:
        """One pass: d + 1 rows and their weights with the very likelihood of all weighted rows; linear models only.

        See :meth:`LinearModel.of_root`; here R comes from Z'WZ, a sum over blocks.
        """
        total, gram = self.sum(partial(_gram_sums, weigher))
        values, vectors = np.linalg.eigh(gram)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return cast(LinearModel, self._empty).of_root(root, total)

    def weights(self, weigher: Weigher) -> FloatArray:
        """One pass: the weights (n,) of all rows."""
        if weigher is None:
            return np.ones(self.n_rows)
        return np.concatenate(list(self.map(partial(_single_precision, weigher)))).astype(np.float64)


def _two(labels: tuple[Any, ...]) -> tuple[Any, Any]:
    for known in ((0, 1), (-1, 1)):
        if labels and set(labels) <= set(known):
            return known
    if len(labels) != 2:
        raise InputError(f"y has other labels than two ({show(labels)}); pass 0 and 1, or two names.")
    return labels[0], labels[1]


def with_coded_labels(classes: tuple[Any, ...], block: Block) -> Block:
    """Return a block with labels of two classes as 0 and 1."""
    if block.y is None:
        raise InputError("a model of labels needs y.")
    positive = block.y == classes[1]
    if not (positive | (block.y == classes[0])).all():
        raise InputError(f"y has other labels than {classes[0]!r} and {classes[1]!r}.")
    return block._replace(y=positive.astype(np.float64))


def sample_places(rows: int, seed: int) -> np.ndarray:
    """Sorted places of a random sample without replacement; of n numbers only where n is small."""
    wanted = SAMPLE_ROWS
    if rows <= wanted:
        return np.arange(rows)
    rng = np.random.default_rng([seed, rows])
    if rows <= 20 * wanted:
        return np.sort(rng.permutation(rows)[:wanted])
    found = np.unique(rng.integers(0, rows, size=wanted + wanted // 4))
    return np.sort(rng.permutation(found)[:wanted])


def _of_block(empty: Any, function: Callable[[Any], Result], nothing: Any, block: Block) -> Result:
    if not len(block.X):
        return cast(Result, nothing)
    model = empty.with_response(block.X) if isinstance(empty, MeanModel) else empty.with_rows(block.X, block.y)
    return function(model)


def _weights(model: ModelWithLaw, weigher: Weigher) -> FloatArray:
    return np.ones(model.n_rows) if weigher is None else weigher(model)


def _single_precision(weigher: Callable[[ModelWithLaw], FloatArray], model: ModelWithLaw) -> np.ndarray:
    """Weights as they travel: 4 bytes a row, the only thing of a fit that grows with the rows."""
    return weigher(model).astype(np.float32)


def _newton_sums(theta: FloatArray, weigher: Weigher, model: ModelWithLaw) -> Sums:
    weights = _weights(model, weigher)
    value = float(weighted_sum(model.log_likelihood(theta), weights))
    return float(weights.sum()), value, model.weighted_gradient(theta, weights), model.curvature(theta, weights)


def _log_likelihoods(thetas: FloatArray, weigher: Weigher, model: ModelWithLaw) -> Sums:
    weights = _weights(model, weigher)
    step = max(1, _MOST_PREDICTORS // model.n_rows)
    parts = [weighted_sum(model.log_likelihood(thetas[k : k + step]), weights) for k in range(0, len(thetas), step)]
    return (np.concatenate(parts),)


def _gram_sums(weigher: Weigher, model: ModelWithLaw) -> Sums:
    assert isinstance(model, Regression)
    weights = _weights(model, weigher)
    both = np.column_stack([model.design, model.y])
    return float(weights.sum()), (both.T * weights) @ both


def mode_by_passes(
    model: LargeModel, weigher: Weigher, start: FloatArray, passes: int
) -> tuple[FloatArray, FloatArray, float]:
    """Newton's method, one pass a step: the mode (d,), the precision (d, d) there and the sum of weights.

    Steps are halved where they go downhill; it ends within 1e-3 posterior widths of the mode.
    """
    theta, best, step = start, -math.inf, np.zeros_like(start)
    precision, total = np.eye(len(start)), 0.0
    for _ in range(passes):
        tried = theta + step
        with np.errstate(over="ignore", invalid="ignore"):
            total, value, gradient, curvature = model.newton_sums(tried, weigher)
            value += float(model.prior.log_density(tried))
        if not value >= best - 1e-9 * abs(best):
            step = 0.5 * step
            continue
        theta, best = tried, value
        precision = curvature + model.prior.precision(theta)
        step = np.asarray(np.linalg.solve(precision, gradient + model.prior.gradient(theta)), dtype=np.float64)
        if float(step @ precision @ step) < 1e-6:
            break
    return theta + step, precision, total


def read_in_blocks(X: Any) -> bool:
    """Whether rows are too many to be read whole: in Dask, a source, or a large memory map."""
    return is_dask(X) or isinstance(X, RowSource) or (isinstance(X, np.memmap) and len(X) > SAMPLE_ROWS)
