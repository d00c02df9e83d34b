"""One cell of the grid: a model, an attack, a share and a seed; robula and its rivals against NUTS on the clean rows."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

import robula
from benchmarks.anymodel.attacks import ATTACKS, attack
from benchmarks.anymodel.models import MODELS, linear, make, student
from robula.models.posterior_mode import weighted_mode
from robula.result.convergence import convergence
from robula.selectors.selection import Part, Selection, Selector

#: The share of bad rows that a user declares, whatever the true one is.
DECLARED = 0.25
SHARES = (0.05, 0.1, 0.2)


class Cell(NamedTuple):
    """What is run; ``attack`` is "none" where no row is bad."""

    model: str
    attack: str
    share: float
    seed: int
    n: int


def grid(seeds: int, n: int) -> list[Cell]:
    """All cells, those of the first seed first."""
    attacks = [("none", 0.0), *((kind, share) for kind in ATTACKS for share in SHARES)]
    return [Cell(model, kind, share, seed, n) for seed in range(seeds) for model in MODELS for kind, share in attacks]


@dataclass(frozen=True, eq=False)
class Given(Selector):
    """Row weights that are known, such as which rows are clean."""

    depends_on_theta: ClassVar[bool] = False
    translation_equivariant: ClassVar[bool] = True
    weights: np.ndarray
    theta: np.ndarray

    @property
    def centre(self) -> np.ndarray:
        """Where to begin, shape (d,)."""
        return self.theta

    def select_rows(self, model: Any, theta: np.ndarray, contamination: float) -> Selection:
        """Return the weights as a selection."""
        return Selection((Part(self.weights),), model.dim, scales=(1.0,))


def run_cell(cell: Cell, draws: int = 500, chains: int = 4) -> list[dict[str, Any]]:
    """One line a method: bias and spread in widths of the clean posterior, parameter by parameter.

    bias is the root mean square, over unconstrained parameters, of the difference of posterior means in units of the
    clean posterior's standard deviation; spread the geometric mean of the ratio of standard deviations.
    """
    problem = make(cell.model, cell.n, cell.seed)
    data, bad = attack(problem, cell.attack, cell.share, cell.seed)
    options = dict(draws=draws, burn_in=draws, chains=chains, seed=cell.seed, progress=False)
    model = robula.from_numpyro(problem.model, **data)

    def known(model: Any, weights: np.ndarray) -> Any:
        selector = Given(weights, weighted_mode(model, weights, model.initial))
        return robula.sample(model, contamination=0.0, selector=selector, **options)

    def plain() -> Any:
        return known(model, np.ones(cell.n))

    def robust() -> Any:
        return robula.sample(model, contamination=DECLARED, **options)

    def heavy() -> Any:
        return known(robula.from_numpyro(student, **data), np.ones(cell.n))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clean = known(model, (~bad).astype(float))
        methods = {"robula": robust, "all rows": plain}
        if problem.model is linear:
            methods["Student-t"] = heavy  # the same parameters: coefficients and a log scale
        rows = []
        for name, method in methods.items():
            began = time.perf_counter()
            posterior = method()
            rows.append(
                {
                    **cell._asdict(),
                    "method": name,
                    **_figures(posterior, clean, bad),
                    "seconds": time.perf_counter() - began,
                }
            )
    return rows


def _figures(posterior: Any, clean: Any, bad: np.ndarray) -> dict[str, float]:
    widths = clean.flat_draws.std(axis=0)
    away = (posterior.mean - clean.mean) / widths
    weights = posterior.row_weights
    return {
        "bias": float(np.sqrt(np.mean(away**2))),
        "spread": float(np.exp(np.log(posterior.flat_draws.std(axis=0) / widths).mean())),
        "r_hat": convergence(posterior.draws).r_hat,
        "r_hat_clean": convergence(clean.draws).r_hat,
        "good_weight": float(weights[~bad].mean()),
        "bad_weight": float(weights[bad].mean()) if bad.any() else float("nan"),
    }
