"""Foreign models turned into robula's Model, and robula's kernels turned into other libraries'."""

from robula.integrations.blackjax_kernel import to_blackjax
from robula.integrations.jax_model_with_law import from_jax
from robula.integrations.numpyro_model import from_numpyro
from robula.integrations.pymc_model import from_pymc
from robula.integrations.weighted_models import weighted

__all__ = ["from_jax", "from_numpyro", "from_pymc", "to_blackjax", "weighted"]
