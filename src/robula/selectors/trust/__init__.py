"""The default rule for which rows to trust: explanations of the data compete, and a weight is a probability."""

from robula.selectors.trust.conclusion import Trust
from robula.selectors.trust.trust_constants import MOST_BAD
from robula.selectors.trust.trust_selector import PreparedTrust, TrustSelector, trust

__all__ = ["MOST_BAD", "PreparedTrust", "Trust", "TrustSelector", "trust"]
