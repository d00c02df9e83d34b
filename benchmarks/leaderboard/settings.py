"""What is run: the problems, the methods and how many draws. The one place to change when robula's defaults change."""

from __future__ import annotations

from typing import Any

from robula.simulate.attacks import ATTACKS

#: Arguments of robula.sample for the method "robula": its own defaults are what we recommend.
RECOMMENDED: dict[str, Any] = {}

#: The contamination that the methods are told, in every cell.
DECLARED = 0.2
#: What robula's default is told: the most that bad rows can be, which is what its contamination means since version 0.2.
LIMIT = 0.35

N_CLEAN = 1000
DIMS = (5, 20, 200)
EPSILONS = (0.05, 0.1, 0.2, 0.3)
#: None of them was used while a method was tuned.
SEEDS = (101, 102, 103)
#: At epsilon = 0 all attacks are the same problem, so it is run once, on more seeds.
CLEAN_SEEDS = (101, 102, 103, 104, 105)
REGRESSION_ATTACKS = tuple(ATTACKS)

OURS = ("robula", "robula_estimate", "rob_ula", "median_of_means", "ula")
#: Written from their papers, one file each (related.py).
RELATED = ("reweighted", "coarsened", "m_posterior", "localized")
REGRESSION_RIVALS = (
    "nuts", "student_t", "mixture", "density_power", "isolation_forest", "mm", "clean_nuts", "pareto_k", *RELATED,
)  # fmt: skip
LOGISTIC_OURS = ("robula", "robula_estimate", "median_of_means", "ula")
LOGISTIC_RIVALS = ("nuts", "label_flip", *RELATED)
#: Mean estimation: the paper's attack, and the one that breaks Algorithm 2 as printed (docs/errata.md).
MEAN_ATTACKS = ("mean shift", "hidden cluster")
#: Methods that know which rows are bad, or only score rows: they win nothing.
ORACLES = ("clean_nuts", "pareto_k")

DATASETS = ("breast-cancer", "diabetes", "german", "astro", "phishing")
SPLITS = 20
FLIPS = ("none", "random 0.1", "random 0.15", "targeted 0.1")
#: The two large data sets are cut to this many random rows a split, training and test part together.
MOST_ROWS = 4000

#: Draws a chain, and warm-up, of the NUTS methods (4 chains), by dimension.
NUTS_DRAWS = {5: (1000, 150), 20: (500, 150), 200: (200, 75)}
#: The Gaussian likelihood needs only d equivalent rows (QR), so more draws are affordable.
GAUSSIAN_DRAWS = {5: (1000, 150), 20: (1000, 150), 200: (1000, 100)}
LOGISTIC_DRAWS = (300, 150)
#: Arguments of robula.sample for the recommended method, by dimension.
OUR_RUNS: dict[int, dict[str, int]] = {
    5: {"draws": 2500, "burn_in": 300, "chains": 4},
    20: {"draws": 2500, "burn_in": 300, "chains": 4},
    200: {"draws": 2500, "burn_in": 300, "chains": 4},
}
#: The paper's algorithm selects rows in every step and cannot thin: what it can be given in the time.
ROB_ULA_RUNS: dict[int, dict[str, int]] = {
    5: {"draws": 1500, "burn_in": 200, "chains": 2},
    20: {"draws": 1500, "burn_in": 200, "chains": 2},
    200: {"draws": 300, "burn_in": 150, "chains": 2},
}
ULA_RUNS: dict[int, dict[str, int]] = {
    5: {"draws": 2000, "burn_in": 300, "chains": 4},
    20: {"draws": 2000, "burn_in": 300, "chains": 4},
    200: {"draws": 1000, "burn_in": 300, "chains": 4, "thin": 4},
}
LOGISTIC_RUN: dict[str, int] = {"draws": 500, "burn_in": 200, "chains": 4, "thin": 2}
LOGISTIC_ULA_RUN: dict[str, int] = {"draws": 600, "burn_in": 1000, "chains": 4, "thin": 5}
