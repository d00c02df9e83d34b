"""Foreign models turned into robula's Model, and robula's kernels turned into other libraries'."""

from robula.adapters.from_jax import from_jax
from robula.adapters.from_numpyro import from_numpyro
from robula.adapters.from_pymc import from_pymc
from robula.adapters.to_blackjax import to_blackjax

__all__ = ["from_jax", "from_numpyro", "from_pymc", "to_blackjax"]
