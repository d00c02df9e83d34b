"""The claim checks against made-up curves that satisfy them and that violate them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from robula.experiments.claims import (
    FAILS,
    HOLDS,
    NOT_JUDGED,
    NOT_RUN,
    PARTLY,
    Claim,
    Curve,
    falls,
    rises,
    verdict,
    with_readings,
)
from robula.experiments.claims_logistic import comparison_table, curves_compared, flipped_claims, uncorrupted_claims
from robula.experiments.claims_synthetic import (
    beyond_the_figures,
    likelihood_claims,
    recovery_claims,
    regression_claims,
)

DEFAULT = {"n_clean": 1000, "dim": 200, "contamination": 0.2}
SWEEPS = {
    "n_clean": [250, 500, 1000, 2000, 4000, 8000],
    "dim": [25, 50, 100, 200, 300, 400],
    "contamination": [0.05, 0.1, 0.2, 0.3, 0.4, 0.49],
}


def made_up(robust, plain, **columns) -> pd.DataFrame:
    """A table in which each algorithm's error is a function of the setting; tiny noise between two runs."""
    rows = []
    settings = [DEFAULT] + [{**DEFAULT, name: value} for name, values in SWEEPS.items() for value in values]
    for setting in {tuple(s.items()): s for s in settings}.values():
        for run in range(2):
            for algorithm, function in (("Rob-ULA", robust), ("ULA", plain)):
                row = {**setting, "run": run, "algorithm": algorithm, "error": function(**setting) * (1 + 1e-6 * run)}
                row |= {name: column(algorithm=algorithm, **setting) for name, column in columns.items()}
                rows.append(row)
    return pd.DataFrame(rows)


def good_robust(n_clean, dim, contamination):
    return np.sqrt(dim / n_clean + dim * contamination**2 / 100)


def good_plain(n_clean, dim, contamination):
    return 5 * np.sqrt(dim) * contamination + np.sqrt(dim / n_clean)


def constant(value, **_):
    return value


def verdicts(claims) -> list[str]:
    return [claim.verdict for claim in claims]


def test_recovery_claims_hold_on_curves_like_the_papers():
    claims = recovery_claims("figure1", made_up(good_robust, good_plain), DEFAULT)
    assert verdicts(claims) == [HOLDS] * 5
    assert all(claim.finding for claim in claims)


def test_each_recovery_claim_can_fail():
    swapped = recovery_claims("figure1", made_up(good_plain, good_robust), DEFAULT)
    assert swapped[0].verdict == FAILS
    rising_in_n = recovery_claims("figure1", made_up(lambda n_clean, **_: n_clean, good_plain), DEFAULT)
    assert rising_in_n[1].verdict == FAILS
    never_flat = recovery_claims(
        "figure1", made_up(lambda n_clean, dim, contamination: np.sqrt(dim / n_clean), good_plain), DEFAULT
    )
    assert never_flat[2].verdict == FAILS
    falling = recovery_claims(
        "figure1", made_up(lambda dim, contamination, **_: 1 / dim / contamination, good_plain), DEFAULT
    )
    assert verdicts(falling)[3:] == [PARTLY, PARTLY]
    both = recovery_claims("figure1", made_up(*[lambda dim, contamination, **_: 1 / dim / contamination] * 2), DEFAULT)
    assert verdicts(both)[3:] == [FAILS, FAILS]


def test_regressions_meet_near_one_half_or_not():
    meeting = made_up(
        good_robust,
        lambda contamination, **rest: good_robust(contamination=contamination, **rest) * (3 - 4 * contamination),
    )
    assert regression_claims(meeting, DEFAULT)[-1].verdict == HOLDS
    assert regression_claims(made_up(good_robust, good_plain), DEFAULT)[-1].verdict == FAILS


def likelihood_table(robust_gap, plain_gap, underflows):
    return made_up(
        good_robust,
        good_plain,
        test_log_likelihood_truth=lambda dim, **_: -1.4 * dim,
        test_log_likelihood_clean=lambda dim, **_: -1.401 * dim,
        test_log_likelihood=lambda algorithm, dim, **_: (
            -1.4 * dim - (robust_gap if algorithm == "Rob-ULA" else plain_gap)
        ),
        densities_underflow=lambda algorithm, dim, contamination, **_: (
            algorithm == "ULA" and underflows(dim, contamination)
        ),
    )


def test_likelihood_claims():
    as_claimed = likelihood_table(0.1, 50.0, lambda dim, contamination: dim > 200 or contamination > 0.2)
    claims = likelihood_claims(as_claimed, DEFAULT)
    assert verdicts(claims) == [HOLDS, HOLDS, HOLDS]
    # No estimate is the truth: strictly, not even the exact clean posterior mean has its likelihood.
    assert "is that near the truth at 0" in claims[0].finding
    otherwise = likelihood_table(9.0, 1.0, lambda dim, contamination: dim <= 200 and contamination <= 0.2)
    assert verdicts(likelihood_claims(otherwise, DEFAULT)) == [FAILS, FAILS, FAILS]
    never = likelihood_table(0.0, 50.0, lambda dim, contamination: False)
    assert likelihood_claims(never, DEFAULT)[2].verdict == PARTLY


def test_what_a_short_sweep_cannot_show_is_not_run():
    """--quick has no d above 200, no n above 1000: it cannot judge finiteness, saturation, or epsilon near one half."""
    short = likelihood_table(0.1, 50.0, lambda dim, contamination: contamination > 0.2)
    short = short[(short["dim"] <= 200) & (short["n_clean"] <= 2000) & (short["contamination"] <= 0.4)]
    assert likelihood_claims(short, DEFAULT)[2].verdict == NOT_RUN
    assert recovery_claims("figure1", short, DEFAULT)[2].verdict == NOT_RUN
    assert regression_claims(short, DEFAULT)[-1].verdict == NOT_RUN


def test_other_readings_stand_beside_what_does_not_hold():
    claims = [Claim("figure1", "a", "", HOLDS, ""), Claim("figure1", "b", "", FAILS, "")]
    other = [Claim("figure1", "b", "", HOLDS, "better"), Claim("figure1", "a", "", FAILS, "worse")]
    first, second = with_readings(claims, {"all rows": other})
    # A claim that holds only as we read the paper says so, too.
    assert first.readings == (("all rows", FAILS, "worse"),)
    assert with_readings(claims[:1], {"all rows": [Claim("figure1", "a", "", HOLDS, "")]})[0].readings == ()
    assert second.readings == (("all rows", HOLDS, "better"),)


@pytest.mark.parametrize(("bias", "spread", "expected"), [(0.1, 1.05, HOLDS), (2.0, 1.0, PARTLY), (2.0, 2.0, FAILS)])
def test_distance_to_the_clean_posterior(bias, spread, expected):
    figures = {"bias": bias, "spread": spread, "w2": bias, "bias_mcse": 0.01, "spread_mcse": 0.01, "w2_mcse": 0.01}
    table = made_up(
        good_robust,
        good_plain,
        effective_sample_size=lambda **_: 100.0,
        **{name: partial(constant, value) for name, value in figures.items()},
    )
    (claim,) = beyond_the_figures("figure1", table, DEFAULT)
    assert claim.verdict == expected
    assert f"bias {bias:.2f}" in claim.finding


def test_directions_allow_for_noise():
    noisy = Curve(np.arange(3), np.array([1.0, 0.95, 2.0]), np.array([0.1, 0.1, 0.1]))
    assert rises(noisy) == (2, 2)
    assert rises(Curve(noisy.x, noisy.mean, np.zeros(3))) == (1, 2)
    assert falls(Curve(noisy.x, -noisy.mean, noisy.error)) == (2, 2)
    assert verdict(0, 0) == NOT_RUN


# Mostly better, worse in the tail: the pattern of figure 5.
PATTERN = {"Rob-ULA": [-0.01] * 90 + [-5.0] * 10, "ULA": [-0.3] * 90 + [-1.0] * 10}
OPPOSITE = {"Rob-ULA": [-0.3] * 90 + [-1.0] * 10, "ULA": [-0.01] * 90 + [-5.0] * 10}


def logistic_table(names) -> pd.DataFrame:
    rows = []
    for name, flips, run in names:
        for algorithm in ("Rob-ULA", "ULA"):
            rows.append(
                {
                    "dataset": name,
                    "flips": flips,
                    "run": run,
                    "algorithm": algorithm,
                    "predictive_log_likelihood": -0.5,
                    "calibration_error": 0.1,
                    "rhat_predictor": 1.0,
                }
            )
    return pd.DataFrame(rows)


def test_curves_are_compared_by_rank():
    result = curves_compared(PATTERN)
    assert result["ranks_above"] == result["points_above"] == 0.9
    assert (result["tail_robust"], result["tail_plain"]) == (-5.0, -1.0)


def test_logistic_claims_follow_the_curves():
    labels = [("german", 0.1, 0), ("german", 0.2, 0)]
    table = logistic_table(labels)
    as_claimed = flipped_claims(comparison_table(labels, [PATTERN, PATTERN]), table, {"german": 0.1})
    assert verdicts(as_claimed) == [HOLDS, HOLDS, FAILS, HOLDS]
    opposite = flipped_claims(comparison_table(labels, [OPPOSITE, OPPOSITE]), table, {"german": 0.1})
    assert verdicts(opposite) == [FAILS, FAILS, HOLDS, FAILS]
    unconverged = table.assign(rhat_predictor=3.4, steps=100.0, seconds=72.0)
    claims = flipped_claims(comparison_table(labels, [PATTERN, PATTERN]), unconverged, {"german": 0.1})
    assert verdicts(claims)[:3] == [NOT_JUDGED] * 3
    assert "would take Rob-ULA 0.0 hours" in claims[2].finding
    mixed = flipped_claims(comparison_table(labels, [PATTERN, OPPOSITE]), table, {"german": 0.1})
    assert mixed[-1].verdict == PARTLY
    labels = [("astro", 0.0, 0)]
    table = logistic_table(labels)
    assert verdicts(uncorrupted_claims(comparison_table(labels, [PATTERN]), table)) == [HOLDS, FAILS]
    assert verdicts(uncorrupted_claims(comparison_table(labels, [OPPOSITE]), table)) == [FAILS, HOLDS]
