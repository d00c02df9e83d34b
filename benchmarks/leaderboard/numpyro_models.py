"""What users write instead, as NumPyro models of padded rows.

Every model takes the same arguments, so that one compiled sampler serves every data set of a size: ``design`` (n, d) and
``offset`` (n,) give the linear predictor ``offset + design @ z`` in coordinates in which the posterior is nearly round,
``theta = centre + root @ z``; ``keep`` (n,) is 1 for rows that count and 0 for padding. The priors on theta are the
problems' N(0, I), and the noise scale is the problems' known 1 where the likelihood has one.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.nn import log_sigmoid, sigmoid

#: Exponent of the density power divergence.
BETA = 0.3


def _predictor(design, offset, centre, root):
    z = numpyro.sample("z", dist.ImproperUniform(dist.constraints.real_vector, (), (design.shape[1],)))
    theta = centre + root @ z
    numpyro.factor("prior", dist.Normal(0.0, 1.0).log_prob(theta).sum())
    return offset + design @ z


def gaussian(design, offset, y, keep, centre, root):
    """The model's own likelihood, N(x'theta, 1)."""
    eta = _predictor(design, offset, centre, root)
    numpyro.factor("rows", (keep * dist.Normal(eta, 1.0).log_prob(y)).sum())


def student_t(design, offset, y, keep, centre, root):
    """Student-t noise of scale 1, its degrees of freedom ~ Gamma(2, 0.1) (Juarez and Steel 2010)."""
    eta = _predictor(design, offset, centre, root)
    freedom = numpyro.sample("freedom", dist.Gamma(2.0, 0.1))
    numpyro.factor("rows", (keep * dist.StudentT(freedom, eta, 1.0).log_prob(y)).sum())


def mixture(design, offset, y, keep, centre, root):
    """Hogg, Bovy and Lang (2010), section 3: a row is bad with probability q, and then y ~ N(location, scale^2 + 1).

    The hyperpriors follow the response's own spread, as users set them: location ~ N(mean, sd), scale ~ half-normal(2 sd).
    """
    eta = _predictor(design, offset, centre, root)
    good, bad = mixture_terms(eta, y, **_mixture_parameters(y, keep))
    # Both below 1e-140: a row that says nothing. The square of the constant, in the Hessian, must not underflow.
    numpyro.factor("rows", (keep * jnp.log(jnp.exp(good) + jnp.exp(bad) + 1e-140)).sum())


def _mixture_parameters(y, keep):
    middle = (keep * y).sum() / keep.sum()
    spread = jnp.sqrt((keep * (y - middle) ** 2).sum() / keep.sum())
    return {
        "share": numpyro.sample("share", dist.Uniform(0.0, 0.5)),
        "location": middle + spread * numpyro.sample("location", dist.Normal(0.0, 1.0)),
        "scale": spread * numpyro.sample("scale", dist.HalfNormal(2.0)),
    }


def mixture_terms(eta, y, share, location, scale):
    """Log joint densities of (good, y) and (bad, y), both (n,)."""
    good = jnp.log1p(-share) + dist.Normal(eta, 1.0).log_prob(y)
    return good, jnp.log(share) + dist.Normal(location, jnp.sqrt(1.0 + scale**2)).log_prob(y)


def density_power(design, offset, y, keep, centre, root):
    """General Bayes with the density power divergence (Ghosh and Basu 2016): sum of f^beta / beta; the integral is constant."""
    eta = _predictor(design, offset, centre, root)
    powers = jnp.exp(BETA * dist.Normal(eta, 1.0).log_prob(y))
    constant = (2 * math.pi) ** (-BETA / 2) * (1 + BETA) ** -1.5
    numpyro.factor("rows", (keep * (powers / BETA - constant)).sum())


def logistic(design, offset, y, keep, centre, root):
    """Bernoulli labels."""
    eta = _predictor(design, offset, centre, root)
    numpyro.factor("rows", (keep * log_sigmoid(jnp.where(y > 0.5, eta, -eta))).sum())


def label_flip(design, offset, y, keep, centre, root):
    """Labels that are wrong with probability flips ~ uniform [0, 0.5]."""
    eta = _predictor(design, offset, centre, root)
    flips = numpyro.sample("flips", dist.Uniform(0.0, 0.5))
    right = sigmoid(jnp.where(y > 0.5, eta, -eta))
    numpyro.factor("rows", (keep * jnp.log(flips + (1 - 2 * flips) * right)).sum())


MODELS = {model.__name__: model for model in (gaussian, student_t, mixture, density_power, logistic, label_flip)}
