"""What may be believed of a finished run."""

from robula.diagnosis.certification import Certificate, certificate
from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.influence import Influence, influence
from robula.diagnosis.sensitivity import ContaminationPath, contamination_path
from robula.diagnosis.step_halving import step_bias
from robula.diagnosis.verdict import Diagnosis, diagnose
from robula.run.step_pair import StepBias

__all__ = [
    "Certificate",
    "ContaminationPath",
    "Diagnosis",
    "Hinge",
    "Influence",
    "StepBias",
    "certificate",
    "contamination_path",
    "diagnose",
    "influence",
    "step_bias",
]
