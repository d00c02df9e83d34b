"""The default rule for which rows to trust: explanations of the data compete, and a weight is a probability."""

from robula.selectors.trust.conclusion import Trust
from robula.selectors.trust.trust_constants import DEFAULT_BUDGET
from robula.selectors.trust.trust_selector import PreparedTrust, TrustSelector, trust

__all__ = ["DEFAULT_BUDGET", "PreparedTrust", "Trust", "TrustSelector", "trust"]
