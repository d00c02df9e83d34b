"""Claims about figures 4 and 5."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from robula.experiments.claims import NOT_JUDGED, Claim, verdict

#: Above this R-hat of the linear predictors a claim is not judged: the figures are those of the start.
UNCONVERGED = 1.2
#: One run's log-likelihoods of the test points, by algorithm.
Points = Mapping[str, Sequence[float]]


def curves_compared(points: Points) -> dict[str, float]:
    """Compare the two sorted curves of one run.

    Returns the share of ranks at which Rob-ULA's sorted curve lies above ULA's, the share of points it gives the higher
    likelihood, and both algorithms' means over the lowest 5 % of the ranks.
    """
    robust, plain = (np.asarray(points[name]) for name in ("Rob-ULA", "ULA"))
    robust_sorted, plain_sorted = np.sort(robust)[::-1], np.sort(plain)[::-1]
    tail = max(1, round(0.05 * len(robust)))
    return {
        "ranks_above": float((robust_sorted > plain_sorted).mean()),
        "points_above": float((robust > plain).mean()),
        "tail_robust": float(robust_sorted[-tail:].mean()),
        "tail_plain": float(plain_sorted[-tail:].mean()),
        "median_robust": float(np.median(robust)),
        "median_plain": float(np.median(plain)),
        "mean_robust": float(robust.mean()),
        "mean_plain": float(plain.mean()),
        "min_robust": float(robust.min()),
        "min_plain": float(plain.min()),
    }


def comparison_table(labels: Sequence[tuple[str, float, int]], points: Sequence[Points]) -> pd.DataFrame:
    """One row a run: data set, flips, run, and :func:`curves_compared`."""
    rows = [
        {"dataset": name, "flips": flips, "run": run, **curves_compared(values)}
        for (name, flips, run), values in zip(labels, points, strict=True)
    ]
    return pd.DataFrame(rows)


def uncorrupted_claims(compared: pd.DataFrame, table: pd.DataFrame) -> list[Claim]:
    """Return the claims about figure 4."""
    claims = []
    for name, group in compared.groupby("dataset", sort=False):
        nearer = group["median_robust"] > group["median_plain"]
        claims.append(
            Claim(
                "figure4",
                f"{name}: the histogram of likelihoods is more concentrated towards the origin",
                "median test log-likelihood of Rob-ULA nearer 0 than ULA's, split by split",
                _judged(table, str(name), 0.0, nearer),
                f"median {group['median_robust'].mean():.3f} against {group['median_plain'].mean():.3f}; "
                f"higher for {100 * group['points_above'].mean():.0f} % of the points",
            )
        )
        better = group["mean_robust"] >= group["mean_plain"]
        claims.append(
            Claim(
                "figure4",
                f"{name}: Rob-ULA finds solutions which have better test log-likelihood performance across data "
                "points; its performance does not degrade in the regions it ignores",
                "mean test log-likelihood of Rob-ULA at least ULA's, split by split",
                _judged(table, str(name), 0.0, better),
                f"mean {group['mean_robust'].mean():.3f} against {group['mean_plain'].mean():.3f} nats a point"
                + _calibration(table, str(name), 0.0),
            )
        )
    return claims


def flipped_claims(compared: pd.DataFrame, table: pd.DataFrame, defaults: dict[str, float]) -> list[Claim]:
    """Return the claims about figure 5."""
    claims = []
    for name, flips in defaults.items():
        group = compared[(compared["dataset"] == name) & (compared["flips"] == flips)]
        if len(group):
            claims += _at_default(name, flips, group, table)
    pattern = (compared["ranks_above"] > 0.5) & (compared["tail_robust"] < compared["tail_plain"])
    by_level = pattern.groupby(compared["flips"]).mean()
    claims.append(
        Claim(
            "figure5",
            "this behavior was consistently seen for varying levels of epsilon",
            "sorted curve above for most ranks and below in the lowest 5 %, over all data sets, levels and splits",
            verdict(int(pattern.sum()), len(pattern)),
            "share of runs by flipped labels: "
            + ", ".join(f"{level:g}: {100 * share:.0f}%" for level, share in by_level.items()),
        )
    )
    return claims


def _at_default(name: str, flips: float, group: pd.DataFrame, table: pd.DataFrame) -> list[Claim]:
    above, tail = group["ranks_above"] > 0.5, group["tail_robust"] < group["tail_plain"]
    slight = group["mean_robust"] > group["mean_plain"] - 0.05
    return [
        Claim(
            "figure5",
            f"{name} ({100 * flips:g} % flips): Rob-ULA performs better than vanilla ULA for a majority of data points",
            "Rob-ULA's sorted curve above ULA's at more than half of the ranks, split by split",
            _judged(table, name, flips, above),
            f"above at {100 * group['ranks_above'].mean():.0f} % of the ranks; higher for "
            f"{100 * group['points_above'].mean():.0f} % of the points",
        ),
        Claim(
            "figure5",
            f"{name}: ... but its prediction quality decreases for the tail points, to larger negative values",
            "mean of the lowest 5 % below ULA's, split by split",
            _judged(table, name, flips, tail),
            f"lowest 5 %: {group['tail_robust'].mean():.2f} against {group['tail_plain'].mean():.2f}; "
            f"minimum {group['min_robust'].mean():.1f} against {group['min_plain'].mean():.1f}",
        ),
        Claim(
            "figure5",
            f"{name}: for the corrupted regions, the performance of Rob-ULA degrades slightly",
            "mean test log-likelihood within 0.05 nats of ULA's, split by split",
            _judged(table, name, flips, slight),
            f"mean {group['mean_robust'].mean():.3f} against {group['mean_plain'].mean():.3f} nats a point"
            + _calibration(table, name, flips),
        ),
    ]


def _judged(table: pd.DataFrame, name: str, flips: float, passed: pd.Series[bool]) -> str:
    """Return the verdict of a check made split by split, unless a chain of the data set did not converge."""
    chosen = table[(table["dataset"] == name) & (table["flips"] == flips)]
    if float(chosen.groupby("algorithm")["rhat_predictor"].mean().max()) > UNCONVERGED:
        return NOT_JUDGED
    return verdict(int(passed.sum()), len(passed))


def _calibration(table: pd.DataFrame, name: str, flips: float) -> str:
    """Posterior predictive, calibration and convergence of both algorithms, in words."""
    chosen = table[(table["dataset"] == name) & (table["flips"] == flips)]
    means = chosen.groupby("algorithm").mean(numeric_only=True)
    robust, plain = (dict(means.loc[algorithm]) for algorithm in ("Rob-ULA", "ULA"))
    return (
        f"; posterior predictive {robust['predictive_log_likelihood']:.3f} against "
        f"{plain['predictive_log_likelihood']:.3f}; "
        f"calibration error {robust['calibration_error']:.3f} against {plain['calibration_error']:.3f}; "
        f"R-hat {robust['rhat_predictor']:.2f} and {plain['rhat_predictor']:.2f}" + _cost(robust, plain)
    )


def _cost(robust: Mapping[Hashable, float], plain: Mapping[Hashable, float]) -> str:
    """Say what an unconverged Rob-ULA would need: as many steps as ULA did, at its own seconds a step."""
    if robust["rhat_predictor"] <= UNCONVERGED or "seconds" not in robust:
        return ""
    hours = robust["seconds"] / robust["steps"] * plain["steps"] / 3600.0
    return (
        f" after {robust['steps']:.0f} steps; the {plain['steps']:.0f} that ULA needed would take Rob-ULA "
        f"{hours:.1f} hours a split"
    )
