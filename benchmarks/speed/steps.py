"""Exact and frozen steps against plain ones, and how they grow with rows and dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

import robula
from benchmarks.speed.timing import Row, medians
from robula.selectors import SELECTORS
from robula.selectors.truncation import rows_to_keep
from robula.target.frozen_gradient import FrozenGradient

CHAINS = 4
CONTAMINATION = 0.2


def logistic_problem(rows: int, dim: int, seed: int = 0) -> tuple[robula.LogisticModel, np.ndarray]:
    """A logistic regression with a fifth of its labels flipped, and chains scattered over its posterior."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, dim))
    truth = rng.standard_normal(dim) / math.sqrt(dim)
    y = (rng.uniform(size=rows) < 1 / (1 + np.exp(-X @ truth))).astype(float)
    bad = rng.choice(rows, int(CONTAMINATION * rows), replace=False)
    y[bad] = 1 - y[bad]
    model = robula.LogisticModel(X, y, prior=robula.NormalPrior(0.0, 1.0))
    return model, truth + 2 * math.sqrt(dim / rows) * rng.standard_normal((CHAINS, dim)) / math.sqrt(dim)


def plain_pass(model: robula.models.Model, theta: np.ndarray) -> Callable[[], object]:
    """One full pass over the rows for all chains: what a step of plain ULA costs, with no shortcut."""
    weights = np.ones(model.n_rows)
    return lambda: model.weighted_gradient(theta, weights)


def frozen(
    model: robula.models.Model, selector: robula.selectors.Selector, theta: np.ndarray, groups: int
) -> Callable[[], object]:
    """A step with frozen selections, shared by ``groups`` groups of chains, prepared."""
    made = [selector.select_rows(model, theta[index], CONTAMINATION) for index in range(groups)]
    gradient = FrozenGradient(model, tuple(made[chain % groups] for chain in range(len(theta))))
    for _ in range(model.dim):
        gradient(theta)
    return lambda: gradient(theta)


def primitives(rows: int, dim: int) -> list[Callable[[], object]]:
    """np.sort, B @ B.T and np.linalg.eigh at the sizes the recursion really meets."""
    rng = np.random.default_rng(0)
    calls: list[Callable[[], object]] = []
    while True:
        kept = rows_to_keep(rows, CONTAMINATION)
        points = rng.standard_normal((dim, rows))
        calls.append(lambda points=points: np.sort(points, axis=1))
        if dim == 1:
            return calls
        inside = np.ascontiguousarray(points[:, :kept])
        calls.append(lambda inside=inside: inside @ inside.T)
        gram = inside @ inside.T
        calls.append(lambda gram=gram: np.linalg.eigh(gram))
        rows, dim = kept, math.ceil(dim / 2)


def exact_ratio(repeats: int, rows: int = 1250, dim: int = 200) -> tuple[float, float, float]:
    """Seconds of an exact recursive gradient and of its primitives, and their ratio."""
    problem = robula.simulate.linear_regression(round(rows * (1 - CONTAMINATION)), dim, CONTAMINATION, seed=0)
    model, theta = problem.model, problem.clean_posterior.mean
    selector, parts = robula.RecursiveMean(), primitives(rows, dim)
    times = medians(
        {
            "exact": lambda: selector.select_rows(model, theta, CONTAMINATION).estimate,
            "primitives": lambda: [part() for part in parts],
        },
        repeats,
    )
    return times["exact"], times["primitives"], times["exact"] / times["primitives"]


def frozen_ratio(repeats: int, selector: robula.selectors.Selector, rows: int = 1250, dim: int = 200) -> float:
    """Frozen step over plain pass, logistic regression, four chains, a selection for each."""
    model, theta = logistic_problem(rows, dim)
    times = medians({"plain": plain_pass(model, theta), "frozen": frozen(model, selector, theta, CHAINS)}, repeats)
    return times["frozen"] / times["plain"]


def step_rows(repeats: int, dim: int = 200) -> Iterator[Row]:
    """Must-show 1: frozen steps, refreshes and totals, for every selector."""
    model, theta = logistic_problem(1250, dim)
    selectors = {name: make().prepared(model, CONTAMINATION) for name, make in SELECTORS.items()}
    cases: dict[str, Callable[[], object]] = {"plain": plain_pass(model, theta)}
    for name, selector in selectors.items():
        cases[f"{name}, frozen"] = frozen(model, selector, theta, CHAINS)
        cases[f"{name}, frozen, shared"] = frozen(model, selector, theta, 2)
        cases[f"{name}, refresh"] = lambda selector=selector: selector.select_rows(model, theta[0], CONTAMINATION)
        cases[f"{name}, preparation"] = lambda selector=selector: frozen_preparation(model, selector, theta)
    times = medians(cases, repeats)
    once = medians(
        {name: lambda make=make: make().prepared(model, CONTAMINATION) for name, make in SELECTORS.items()}, 1
    )
    section = f"1. n = 1250, d = {dim}, 4 chains, logistic"
    yield Row(section, "plain pass", "ms", 1e3 * times["plain"])
    for name in selectors:
        single = name != "recursive"
        ratio = times[f"{name}, frozen"] / times["plain"]
        yield Row(section, name, "frozen step / plain, a selection per chain", ratio, 1.5 if single else 2.5)
        shared = times[f"{name}, frozen, shared"] / times["plain"]
        yield Row(section, name, "frozen step / plain, two groups", shared, 1.5 if single else 2.5)
        if not selectors[name].depends_on_theta:
            yield Row(
                section,
                name,
                "its one selection, made before the first step, in plain passes",
                once[name] / times["plain"],
            )
            continue
        # Two groups share a selection each; a preparation includes the selection it is made of.
        refresh = 2 * max(times[f"{name}, refresh"], times[f"{name}, preparation"]) / times["plain"]
        yield Row(section, name, "one selection, in plain passes", times[f"{name}, refresh"] / times["plain"])
        limit = 4.0 if name == "recursive" else None
        yield Row(section, name, "total / plain at refresh_every=50", shared + refresh / 50, limit)
        if shared < 2:
            yield Row(section, name, "K at which the total is below twice plain", math.ceil(refresh / (2 - shared)))
    exact, parts, ratio = exact_ratio(repeats, dim=dim)
    section = f"Exact recursive gradient, n = 1250, d = {dim}, linear"
    yield Row(section, "recursive", "ms", 1e3 * exact)
    yield Row(section, "sort, Gram, eigh it must call", "ms", 1e3 * parts)
    yield Row(section, "recursive", "exact / primitives", ratio, 2.0)


def frozen_preparation(model: robula.models.Model, selector: robula.selectors.Selector, theta: np.ndarray) -> object:
    """A selection and the first frozen step after it."""
    selection = selector.select_rows(model, theta[0], CONTAMINATION)
    return FrozenGradient(model, (selection,))(theta[:1])


def growth_rows(repeats: int) -> Iterator[Row]:
    """Must-show 3: ten times the rows, twice the dimension."""
    sizes = {"base": (20_000, 40), "10 x rows": (200_000, 40), "2 x dimension": (20_000, 80)}
    selector = robula.RecursiveMean()
    cases: dict[str, Callable[[], object]] = {}
    for name, (rows, dim) in sizes.items():
        model, theta = logistic_problem(rows, dim)
        cases[f"exact, {name}"] = lambda model=model, theta=theta: selector.select_rows(model, theta[0], CONTAMINATION)
        cases[f"frozen, {name}"] = frozen(model, selector, theta, 2)
    times = medians(cases, repeats)
    section = "3. Growth from n = 20,000, d = 40, logistic, recursive"
    for kind, limits in {"exact": (11.0, 8.0), "frozen": (11.0, 4.5)}.items():
        for name, limit in zip(("10 x rows", "2 x dimension"), limits, strict=True):
            yield Row(section, kind, name, times[f"{kind}, {name}"] / times[f"{kind}, base"], limit)
