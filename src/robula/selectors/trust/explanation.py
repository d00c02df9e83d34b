"""One explanation of the data, fitted by expectation-maximisation: clean rows, gross rows and bad populations."""

from __future__ import annotations

import math
from copy import copy

import numpy as np
from scipy.special import expit

from robula._types import FloatArray
from robula.models.law import ModelWithLaw
from robula.selectors.trust import trust_constants as constants
from robula.selectors.trust.bad_population import (
    BadPopulation,
    gross_log_density,
    odds_by_cells,
    population_axes,
    scale_of_gross_rows,
)
from robula.selectors.trust.chance_of_mistake import ChanceOfMistake
from robula.selectors.trust.law_covariates import LawCovariates
from robula.selectors.trust.limit import within_budget
from robula.selectors.trust.log_sums import log_add, log_one_plus_exp, log_sum
from robula.selectors.trust.row_doubt import louis_covariance
from robula.selectors.trust.row_law import ANY_PLACE, AS_DECLARED, RowLaw, price_of_the_unseen
from robula.selectors.trust.scored_rows import ScoredRows

NO_SHARE = 1e-300  #: stands for a share of 0 whose logarithm is needed
# What the law's covariates and the leverages are looked at again at, in steps.
_LOOK_AGAIN, _LEVERAGE_EVERY = (2, 8), 5
# Nats within which a fit counts as settled.
_SETTLED = 0.02
# Noise, in units of the spread of the responses, that is none: they are not recorded to so many digits.
_NO_NOISE = 1e-6


class Explanation:
    """p(row) = (1 - pi) f(z) + pi_0 q_0(z) + sum_k pi_k(x) q_k(z | x): f the law, q_0 gross rows, q_k populations.

    Parameters
    ----------
    rows : ScoredRows
    theta : ndarray, shape (d,)
        Where to begin.
    budget : float
        Largest share of rows that may be called bad.
    gross : bool
        Whether there can be gross rows.
    freedom : int
        How far the law may differ from the declared one: 0 not at all, 1 in its shape, 2 also in its spread and its
        mean from place to place. Few rows cannot pay for all of it.
    law, leverage : RowLaw and ndarray, shape (n,), optional
        What to begin from.
    keeping : float, optional
        Nats that a row pays for being called bad, where it is not the usual.

    Attributes
    ----------
    theta : ndarray, shape (d,)
    weights : ndarray, shape (n,)
        Probability of each row to be clean.
    decisive : ndarray, shape (n,)
        Log likelihood ratio of bad against clean.
    evidence : float
        Tempered log evidence.
    wanted : float
        Share of rows that it would call bad without a budget.
    mistakes, conforming : ChanceOfMistake or None, tuple of ndarray (n,) and (d,)
        Where deviating rows are no mistakes, and weights and theta before that was asked.
    """

    price = 0.0  # is in the evidence
    mistakes: ChanceOfMistake | None = None
    conforming: tuple[FloatArray, FloatArray]

    def __init__(
        self,
        rows: ScoredRows,
        theta: FloatArray,
        budget: float,
        *,
        gross: bool = True,
        freedom: int = ANY_PLACE,
        law: RowLaw | None = None,
        leverage: FloatArray | None = None,
        keeping: float | None = None,
    ) -> None:
        self.rows, self.theta, self.budget = rows, theta, budget
        self.keeping = constants.KEEPING if keeping is None else keeping
        n = rows.count
        self.weights: FloatArray = np.ones(n)
        self.leverage = rows.leverage_of_all(theta) if leverage is None else leverage
        self.gross_share, self.gross_scale = (0.02 if gross else NO_SHARE), constants.GROSS_SCALE
        self.populations: list[BadPopulation] = []
        self.members: FloatArray = np.zeros((n, 0))
        self.scores = rows.scores(theta, self.leverage, self.weights)
        self.freedom = freedom
        self.law = self._declared_law() if law is None or law.freedom != freedom else copy(law)
        self.wanted = 0.0

    @property
    def free(self) -> bool:
        """Whether the law may differ from the declared one."""
        return self.law.free

    def with_population(self, suspects: FloatArray, placed: bool = True) -> Explanation:
        """Return a copy with the suspects (n,), probabilities, as one more population and theta fitted without them."""
        other = Explanation(
            self.rows, self.theta, self.budget,
            freedom=self.freedom, law=self.law, leverage=self.leverage, keeping=self.keeping,
        )  # fmt: skip
        other.gross_share, other.gross_scale = min(self.gross_share, 0.005), self.gross_scale
        others = np.clip(1.0 - self.members.sum(axis=1), 0.0, 1.0)
        suspects = suspects * others
        clean = ((suspects < 0.1) & (others > 0.5)).astype(np.float64)
        if clean.sum() > 2 * self.rows.dim:
            other.theta = self.rows.mode(clean, self.theta)
        other.weights = np.clip(others - suspects, 0.0, 1.0)
        other.scores = self.rows.scores(other.theta, other.leverage, other.weights)
        other.members = np.column_stack([self.members, suspects])
        other.populations = self._populations_of(other)
        axes = population_axes(self.rows, other.theta) if placed else None
        other.populations.append(BadPopulation(self.rows, other.scores, suspects, axes))
        return other

    def with_law(self, freedom: int) -> Explanation:
        """Return a copy with a law of another freedom."""
        law = self.law if self.free else None
        other = Explanation(
            self.rows, self.theta, self.budget, freedom=freedom, law=law, leverage=self.leverage, keeping=self.keeping
        )
        other.gross_share, other.gross_scale = self.gross_share, self.gross_scale
        other.weights, other.scores, other.members = self.weights, self.scores, self.members
        other.populations = self._populations_of(other)
        return other

    def _populations_of(self, other: Explanation) -> list[BadPopulation]:
        pairs = zip(self.populations, other.members.T, strict=False)
        return [population.moved_to(self.rows, other.scores, members) for population, members in pairs]

    def on(self, rows: ScoredRows, theta: FloatArray) -> Explanation:
        """Return the same explanation for other rows (all of them, after a search on some), beginning at theta."""
        other = Explanation(
            rows, theta, self.budget, gross=self.gross_share > NO_SHARE, freedom=self.freedom, keeping=self.keeping
        )
        other.law.parameters = self.law.parameters.copy()
        other.gross_share, other.gross_scale = self.gross_share, self.gross_scale
        return other

    def adopting(self, population: BadPopulation) -> Explanation:
        """Add a population that was described by other rows; return itself."""
        log_odds, density = population.among(self.rows, self.scores)
        law = self.law.log_density(self.scores.lower, self.scores.upper, self.scores.interval)
        left = np.clip(1.0 - self.members.sum(axis=1), 0.0, 1.0)
        members = left * expit(log_odds + density + odds_by_cells(self.rows, population.placed) - law)
        self.members = np.column_stack([self.members, members])
        self.weights = np.clip(1.0 - self.members.sum(axis=1), 0.0, 1.0)
        self.populations.append(population.moved_to(self.rows, self.scores, members))
        return self

    def fit(self, steps: int, reach: float = -np.inf) -> Explanation:
        """Run at most so many steps of expectation and maximisation; return itself.

        It is given up where its evidence would stay below ``reach`` if every step that is left rose by as much as the
        last one.
        """
        before = earlier = -np.inf
        for step in range(steps):
            if step and step % _LEVERAGE_EVERY == 0:
                self.leverage = self.rows.leverage(self.weights, self.theta)
            self.scores = self.rows.scores(self.theta, self.leverage, self.weights)
            shares = self._expect()
            value = self.log_likelihood + self.log_prior
            rise, since, before, earlier = value - before, value - earlier, value, before
            hopeless = self.rows.coarsening * (value + (steps - step) * rise) < reach
            # Few rows can go to and fro between two descriptions for ever.
            goes_round = rise > 0.0 and abs(since) < _SETTLED
            if step > 3 and (abs(rise) < _SETTLED or goes_round or hopeless):
                break
            if step + 1 < steps:
                self._maximise(step, shares)
        self.evidence = self._evidence()
        return self

    def within(self, budget: float) -> Explanation:
        """Return a copy, fitted as far, with another budget."""
        other = copy(self)
        other.budget = budget
        other.law, other.populations = copy(self.law), [copy(population) for population in self.populations]
        return other

    def is_like(self, other: Explanation) -> bool:
        """Whether it calls the same rows bad as another one with the same law, within one row in all."""
        return self.freedom == other.freedom and float(np.abs(self.weights - other.weights).sum()) < 1.0

    def covariance(self, model: ModelWithLaw) -> FloatArray:
        """Covariance (d, d) of theta with the doubt about rows in it."""
        return louis_covariance(model, self.weights, self.theta)

    def ask_without_limit(self, steps: int) -> None:
        """Where the budget was spent whole, look what would be called bad without one: ``wanted``.

        Bad rows are as many as they are, but a law that is off can use any number of rows. An exact law is taken at
        its word: what disagrees with it is bad.
        """
        if self.exact:
            self.wanted = 1.0
            return
        if self.rows.exact_law or self.wanted < self.budget:
            return
        doubt = 1.0 - self.within(max(self.budget, constants.MOST_BAD)).fit(steps).weights
        # Rows that are unmistakable within the budget go beyond it in any case.
        sure = float(doubt[self.decisive > constants.GROSS_ODDS].sum())
        wanted = float(doubt.sum()) - max(sure - self.budget * self.rows.count, 0.0)
        self.wanted = max(self.wanted, wanted / self.rows.count)

    def _expect(self) -> FloatArray:
        """Probabilities of the rows; returns the shares (n, k) that the gates expect in each population."""
        scores, n = self.scores, self.rows.count
        self._law_scored = self.law.scored(scores.lower, scores.upper, scores.interval)
        law = self._law_scored[0]
        gross = math.log(self.gross_share) - math.log1p(-self.gross_share)
        for index, population in enumerate(self.populations):
            population.describe(scores, self.members[:, index])
        log_odds = np.column_stack([np.full(n, gross), *(population.log_odds() for population in self.populations)])
        of_bad = log_sum(log_odds)
        total = log_one_plus_exp(of_bad)
        prior = log_odds - total[:, None]
        densities = [gross_log_density(scores, self.gross_scale)]
        densities += [population.log_density for population in self.populations]
        joint = prior + np.column_stack(densities)
        joint[:, 0] += self.rows.bad_odds
        for index, population in enumerate(self.populations):
            joint[:, index + 1] += odds_by_cells(self.rows, population.placed)
        self.decisive: FloatArray = log_sum(joint) - (of_bad - total) - law
        joint -= self._prices()
        bad, clean = log_sum(joint), law - total
        self.log_likelihood = float(log_add(bad, clean).sum()) + scores.base
        self.wanted, doubt = within_budget(bad - clean, self.budget, self.decisive)
        self.weights = 1.0 - doubt
        self._gross_members = doubt * np.exp(joint[:, 0] - bad)
        self.members = doubt[:, None] * np.exp(joint[:, 1:] - bad[:, None])
        expected: FloatArray = np.exp(prior[:, 1:])
        return expected

    def _maximise(self, step: int, shares: FloatArray) -> None:
        scores = self.scores
        if self.gross_share > NO_SHARE:
            self.gross_share = float(np.clip((self._gross_members.sum() + 0.5) / self.rows.count, 1e-6, 0.5))
            self.gross_scale = scale_of_gross_rows(scores, self._gross_members, self.gross_scale)
        self.law.improve(scores.lower, scores.upper, scores.interval, self.weights, self._law_scored)
        if step in _LOOK_AGAIN:
            self.law.covariates = self._law_covariates()
            self.law.trends, self.law.bends = self.law.covariates(self.rows, self.theta)
        for index, population in enumerate(self.populations):
            population.improve_gate(self.members[:, index], shares[:, index])
        self.theta = self.rows.mode(self.weights, self.theta, 1)

    @property
    def called(self) -> float:
        """Share of rows that are called bad."""
        return 1.0 - float(self.weights.mean())

    @property
    def handicaps(self) -> FloatArray:
        """Nats that each row pays for being called gross, or of one of the populations, shape (1 + k,).

        What is not decisive is settled in favour of keeping rows. An exact law is taken at its word, and shifted rows
        are described by so few numbers that these can pay for all of them.
        """
        keeping = self.keeping * self.rows.maturity if self.pays else 0.0
        return keeping * np.array([1.0, *(float(population.placed) for population in self.populations)])

    @property
    def pays(self) -> bool:
        """Whether rows pay for being called bad: not where the law is exact, or calling them so was made free."""
        return not self.rows.exact_law and self.keeping > 0.0

    @property
    def paid(self) -> float:
        """Nats of the evidence that rows have paid for being called bad."""
        called = np.column_stack([self._gross_members, self.members])
        return self.rows.coarsening * float((called * self._prices()).sum())

    @property
    def exact(self) -> bool:
        """Whether clean rows have no noise: y was computed from the columns there, and others are not bad for that."""
        y = self.rows.model.response
        if y is None or self.rows.model.noise != "estimated":
            return False
        # Where half of the responses are the same, their range.
        spread = float(np.subtract(*np.quantile(y, [0.75, 0.25]))) or float(np.ptp(y))
        return -self.scores.base / self.rows.count < math.log(_NO_NOISE * spread + 1e-300)

    def _prices(self) -> FloatArray:
        """Nats that rows pay for being called gross or of a population: (1 + k,), or (n, 1 + k) where rows differ."""
        if not self.pays:
            return self.handicaps
        unseen = price_of_the_unseen(self.law, self.scores.point)
        return self.handicaps + self.rows.maturity * unseen[:, None]

    @property
    def log_prior(self) -> float:
        """Log prior density of the law and of the gates."""
        return self.law.log_prior() + sum(population.log_prior() for population in self.populations)

    def _evidence(self) -> float:
        """Log evidence, less Occam's factors; a row counts ``coarsening``."""
        counted = self.rows.coarsening
        evidence = counted * self.log_likelihood + self.log_prior
        if self.free:
            evidence -= self.law.log_volume(self._law_scored[1], counted * self.weights) + constants.PRICE
        if self.gross_share > NO_SHARE:
            evidence -= 0.5 * math.log1p(counted * self.rows.count)
        for size, population in zip(np.log1p(counted * self.members.sum(axis=0)), self.populations, strict=True):
            # So few numbers as those of shifted rows find something in few rows too. What rows pay takes care of axes.
            price = constants.PRICE * (self.rows.maturity if population.placed else 1.0)
            numbers = population.numbers + (0 if self.pays else population.axis_count)
            evidence -= 0.5 * numbers * float(size) + price
        return evidence

    def _declared_law(self) -> RowLaw:
        """The declared law, as free as it may be, with the spread that the scores have where none was declared."""
        noise = self.rows.model.noise
        scale_sd = constants.PLACE if noise == "implied" else constants.HARDLY
        covariates = self._law_covariates()
        law = RowLaw(*covariates(self.rows, self.theta), self.freedom != AS_DECLARED, scale_sd)
        law.covariates = covariates
        if law.free and noise != "declared":
            spread = 1.4826 * float(np.median(np.abs(self.scores.point)))
            law.parameters[0] = math.log(max(spread, 1e-9))
        return law

    def _law_covariates(self) -> LawCovariates:
        """What the law may follow from place to place, as the rows suggest it now."""
        return LawCovariates(self.rows, self.theta, self.scores.point, self.weights, self.freedom == ANY_PLACE)
