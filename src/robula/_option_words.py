"""What Python calls arguments, said as the command line calls them."""

from __future__ import annotations

import re
import shlex

#: Arguments that are options of ``robula fit`` under the same name.
SHARED_NAMES = (
    "burn_in",
    "chains",
    "checkpoint",
    "contamination",
    "draws",
    "exposure",
    "kernel",
    "model",
    "noise_scale",
    "row_weights",
    "seed",
    "selector",
)
_MODELS = ("StudentT", "Logistic", "Multinomial", "Poisson", "NegativeBinomial", "Gamma")
# Where the command line has another way, or none.
_PHRASES = {
    "noise_scale='estimate' needs none": "without --noise-scale it is estimated",
    "noise_scale='estimate' finds theirs": "without --noise-scale it is estimated",
    "let the model estimate it (noise_scale='estimate')": "leave out --noise-scale",
    "the noise's standard deviation (or 'estimate')": "the noise's standard deviation",
    'sample, trust and the estimators take "estimate"': "pass --contamination estimate",
    "may be mistakes: look at them first": "may be mistakes: look at them first (why_odd in rows.csv)",
    "may be a mistake: look at it first": "may be a mistake: look at it first (why_odd in rows.csv)",
    "posterior.contested": "contested in rows.csv",
    "robula.trust on some of the rows has them": "a fit of 20,000 of the rows has them",
    "draws= or thin=": "--draws",
    "use step_size=robula.StepFor(bias=0.05)": "leave out --kernel",
    "use a smaller step_size": "leave out --kernel",
    ', or RecursiveMean(variant="lai2016")': "",
    "pass a smaller step_size": "leave out --kernel",
    "A smaller step_size with more draws helps.": "Leave out --kernel.",
    "Use a smaller step_size, a longer burn_in, or a start nearer to it.": "Leave out --kernel, or raise --burn-in.",
    "use a longer burn_in, or a start nearer to the posterior": "raise --burn-in",
    "(draws, burn_in); robula.diagnose, whose verdict a report begins with, has the reasons": (
        "(--draws, --burn-in); the report begins with the reasons"
    ),
    ", or keep fewer of them with thin=": "",
    ", the default of robula.sample (docs/explanation/wrong_tool.md)": ", the default",
    "pass the counts themselves and what they are counts of as exposure": (
        "name the column of the counts with --target, and that of what they are counts of with --exposure"
    ),
}
# What a refusal of numbers begins with.
_COLUMNS = {"y": "--target", "exposure": "--exposure", "row_weights": "--row-weights"}
_COLUMN = re.compile(rf"^({'|'.join(_COLUMNS)}) has ")
_CODE = re.compile(r"take (\S+) for missing and drop these rows")
_MODEL = re.compile(rf"\b({'|'.join(_MODELS)})Model\b")
_ARGUMENT = re.compile(
    rf"(?<![\w.-])({'|'.join(SHARED_NAMES)})=(\"[^\"]*\"|'[^']*'|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\w+)?"
)


def as_options(text: str) -> str:
    """Return a sentence for users of Python as one for those of ``robula fit``: ``draws=1000`` is ``--draws 1000``."""
    for python, typed in _PHRASES.items():
        text = text.replace(python, typed)
    text = _COLUMN.sub(lambda match: f"the column of {_COLUMNS[match[1]]} has ", text)
    text = _CODE.sub(r"leave these rows out with --missing \1 --drop-missing", text)
    text = _MODEL.sub(lambda match: f"--model {_dashed(match[1])}", text)
    return _ARGUMENT.sub(_option, text)


def _option(match: re.Match[str]) -> str:
    option = f"--{match[1].replace('_', '-')}"
    return option if match[2] is None else f"{option} {shlex.quote(match[2].strip(chr(34) + chr(39)))}"


def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
