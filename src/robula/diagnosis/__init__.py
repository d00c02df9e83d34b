"""What may be believed of a finished run."""

from robula.diagnosis.certification import Certificate, certificate
from robula.diagnosis.flagged_rows import Flagged, flag
from robula.diagnosis.flipping_rows import Hinge
from robula.diagnosis.row_influence import Influence, influence
from robula.diagnosis.rows_to_check import OddRows, odd_rows
from robula.diagnosis.sensitivity import ContaminationPath, contamination_path
from robula.diagnosis.step_halving import step_bias
from robula.diagnosis.verdict import Diagnosis, diagnose
from robula.run.step_pair import StepBias

__all__ = [
    "Certificate",
    "ContaminationPath",
    "Diagnosis",
    "Flagged",
    "Hinge",
    "Influence",
    "OddRows",
    "StepBias",
    "certificate",
    "contamination_path",
    "diagnose",
    "flag",
    "influence",
    "odd_rows",
    "step_bias",
]
