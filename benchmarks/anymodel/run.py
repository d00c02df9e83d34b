"""One cell of the grid: a model, an attack, a share and a seed; robula and its rivals against NUTS on the clean rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

import robula
from benchmarks.anymodel.attacks import ATTACKS, attack
from benchmarks.anymodel.models import MODELS, make, mixture, student
from robula.models.posterior_mode import weighted_mode
from robula.result.convergence import convergence
from robula.selectors import TrustSelector
from robula.selectors.selection import Part, Selection, Selector

#: The share of bad rows that a user declares, whatever the true one is.
DECLARED = 0.25
SHARES = (0.1, 0.2, 0.05)
#: The default, and the same told that the law of the rows is right, as it is here.
OURS = {"robula": TrustSelector(), "robula (exact law)": TrustSelector(exact_law=True)}
#: Draws of a chain: as many as NUTS needs for an R-hat of 1.01 on the clean rows.
DRAWS = {"spline": 2400, "hierarchical": 1200}
USUAL_DRAWS = 600
#: Draws of a chain where the distance is large anyhow.
RIVAL_DRAWS = 200


class Cell(NamedTuple):
    """What is run; ``attack`` is "none" where no row is bad."""

    model: str
    attack: str
    share: float
    seed: int
    n: int


def grid(seeds: int, n: int) -> list[Cell]:
    """All cells, those of the first seed first and all models of an attack together: a part of it is a fair one."""
    attacks = [("none", 0.0), *((kind, share) for share in SHARES for kind in ATTACKS)]
    return [Cell(model, kind, share, seed, n) for seed in range(seeds) for kind, share in attacks for model in MODELS]


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


class Reference(NamedTuple):
    """NUTS on the clean rows of a cell: means and widths (d,) of its parameters by name, and its R-hat."""

    names: tuple[str, ...]
    mean: np.ndarray
    width: np.ndarray
    r_hat: float


class Workbench:
    """One cell with its data and model; what is asked of it is made once."""

    def __init__(self, cell: Cell, draws: int | None = None, chains: int = 4) -> None:
        self.cell, self._draws = cell, draws or DRAWS.get(cell.model, USUAL_DRAWS)
        problem = make(cell.model, cell.n, cell.seed)
        self._problem = problem
        self._data, self.bad = attack(problem, cell.attack, cell.share, cell.seed)
        self._options = dict(burn_in=300, chains=chains, seed=cell.seed, progress=False)
        self._model = robula.from_numpyro(problem.model, **self._data)

    def reference(self) -> Reference:
        """NUTS on the clean rows."""
        found = self._known(self._model, (~self.bad).astype(float), self._draws)
        widths = found.flat_draws.std(axis=0)
        return Reference(found.parameter_names, found.mean, widths, convergence(found.draws).r_hat)

    def line(self, method: str, reference: Reference) -> dict[str, Any]:
        """One line of the results.

        bias is the root mean square, over unconstrained parameters, of the difference of posterior means in units of
        the clean posterior's standard deviation; spread the geometric mean of the ratio of standard deviations. Rivals
        are compared in the parameters that both have; a Student-t law's scale is no standard deviation.
        """
        began = time.perf_counter()
        posterior = self._run(method)
        seconds = time.perf_counter() - began
        names = [name for name in reference.names if name in posterior.parameter_names]
        if method == "Student-t":
            names = [name for name in names if name.startswith("beta")]
        theirs, ours = ([one.index(name) for name in names] for one in (reference.names, posterior.parameter_names))
        widths, bad, weights = reference.width[theirs], self.bad, posterior.row_weights
        away = (posterior.mean[ours] - reference.mean[theirs]) / widths
        return {
            **self.cell._asdict(),
            "method": method,
            "bias": float(np.sqrt(np.mean(away**2))),
            "spread": float(np.exp(np.log(posterior.flat_draws.std(axis=0)[ours] / widths).mean())),
            "r_hat": convergence(posterior.draws).r_hat,
            "r_hat_clean": reference.r_hat,
            "good_weight": float(weights[~bad].mean()),
            "bad_weight": float(weights[bad].mean()) if bad.any() else float("nan"),
            "seconds": seconds,
        }

    def _run(self, method: str) -> Any:
        if method in OURS:
            return robula.sample(
                self._model, contamination=DECLARED, selector=OURS[method], draws=self._draws, **self._options
            )
        rivals = {"all rows": self._problem.model, "Student-t": student, "mixture": mixture}
        rival = robula.from_numpyro(rivals[method], **self._data)
        return self._known(rival, np.ones(self.cell.n), RIVAL_DRAWS)

    def _known(self, model: Any, weights: np.ndarray, draws: int) -> Any:
        selector = Given(weights, weighted_mode(model, weights, model.initial))
        return robula.sample(model, contamination=0.0, selector=selector, draws=draws, **self._options)


def methods_of(cell: Cell) -> tuple[str, ...]:
    """Whom a cell compares; a linear model also with what a PPL user would write against bad rows."""
    return (*OURS, "all rows", *(("Student-t", "mixture") if cell.model == "linear" else ()))
