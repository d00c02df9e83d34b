"""Repeat a run from its setup, bit for bit or with something changed; or go on with one that was killed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robula._validation import show, warn
from robula._version import __version__
from robula.exceptions import InputError, RepeatWarning
from robula.kernels.kernel import Kernel
from robula.models.model import Model
from robula.result.posterior import Posterior
from robula.run.checkpoint import Checkpoints, read_checkpoint
from robula.run.sampler import sample
from robula.run.setup import Setup
from robula.selectors.selection import Selector


def setup_of(run: Posterior | Setup | Mapping[str, Any]) -> Setup:
    """Return the setup of a posterior, or of what was read from a file."""
    if isinstance(run, Setup):
        return run
    if isinstance(run, Posterior) and run.setup is None:
        raise InputError(f"this posterior cannot be repeated: {run.why_no_run}.")
    found = run.setup if isinstance(run, Posterior) else run
    if not isinstance(found, Mapping):
        raise InputError(f"{show(run)} holds no setup of a run: pass a posterior of robula.sample, or its setup.")
    return Setup.from_dict(found)


def repeat(run: Posterior | Setup | Mapping[str, Any], model: Model, **changes: Any) -> Posterior:
    """Repeat a run.

    Parameters
    ----------
    run : Posterior, Setup or dict
        The run, its setup, or the setup as it was stored (``posterior.setup``).
    model : Model
        The model of the run; other data, prior or names are refused.
    **changes
        Keywords of :func:`robula.sample` in place of the run's own; needed for a selector or kernel of your own that
        cannot be made again from its class and parameters.

    Returns
    -------
    Posterior
        The same bits as the run's, if nothing was changed and robula, NumPy and the machine are the same.

    Examples
    --------
    >>> import robula
    >>> from robula.run.repeat import repeat
    >>> model = robula.simulate.mean_estimation(n_clean=100, dim=2, contamination=0.1, seed=1).model
    >>> posterior = robula.sample(model, contamination=0.1, draws=50, seed=3)
    >>> bool((repeat(posterior, model).draws == posterior.draws).all())
    True
    """
    setup = setup_of(run)
    if not isinstance(model, Model):
        raise InputError(f"model={show(model)} is not a robula model; repeat takes the run first, then its model.")
    setup.require(model)
    if setup.robula != __version__:
        warn(f"the run was made by robula {setup.robula}, this is {__version__}: the draws may differ.", RepeatWarning)
    return sample(model, **{"progress": False, **setup.arguments(changes)})


def resume(
    path: str | os.PathLike[str],
    model: Model,
    *,
    selector: Selector | None = None,
    kernel: Kernel | None = None,
    progress: bool = True,
) -> Posterior:
    """Go on with a run from its last checkpoint.

    Parameters
    ----------
    path : path
        As passed to ``robula.sample(..., checkpoint=path)``.
    model : Model
        The model of the run; other data, prior or names are refused, and so is another version of robula.
    selector, kernel : optional
        Only for a run with objects of your own that cannot be made again from their class and parameters.

    Returns
    -------
    Posterior
        The draws that the whole run would have given, bit for bit.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(model, Model):
        raise InputError(f"resume takes the path of a checkpoint and the model, not {show(path)} and {show(model)}.")
    snapshot = read_checkpoint(path)
    snapshot.setup.require(model)
    given = {name: value for name, value in (("selector", selector), ("kernel", kernel)) if value is not None}
    checkpoints = Checkpoints(Path(path), snapshot.seconds_between, snapshot)
    return sample(model, **snapshot.setup.arguments(given), progress=progress, checkpoint=checkpoints)
