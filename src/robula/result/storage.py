"""Save and load a posterior: a NumPy archive of plain arrays with a readable JSON manifest, never pickle."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from robula.exceptions import InputError
from robula.result.posterior import Posterior

_FORMAT = "robula-posterior"
_FORMAT_VERSION = 1


def save(posterior: Posterior, path: str | os.PathLike[str]) -> None:
    """Write the posterior to ``path``; the file appears whole or not at all."""
    manifest = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "parameter_names": list(posterior.parameter_names),
        "citations": list(posterior.citations),
        "settings": dict(posterior.settings),
        "stats": list(posterior.stats),
        "variables": list(posterior.variables),
    }
    arrays = {
        "draws": posterior.draws,
        "row_weights": posterior.row_weights,
        "half_row_weights": posterior.half_row_weights,
    }
    arrays |= {f"stats{index}": values for index, values in enumerate(posterior.stats.values())}
    arrays |= {f"variables{index}": values for index, values in enumerate(posterior.variables.values())}
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"cannot save to {str(target)!r}: the folder {str(target.parent)!r} does not exist.")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        os.chmod(temporary, 0o666 & ~_umask())  # a temporary file is private; the result is an ordinary file
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, manifest=np.array(json.dumps(manifest)), **arrays)  # type: ignore[arg-type]
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Posterior:
    """Read a posterior written by :meth:`Posterior.save`."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path={path!r} is not a file name.")
    try:
        # Opened here: NumPy leaves the file open when an archive turns out to be broken.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            manifest = json.loads(str(archive["manifest"]))
            arrays = {name: archive[name] for name in archive.files if name != "manifest"}
        return _from_parts(manifest, arrays, path)
    except FileNotFoundError:
        raise InputError(f"there is no file {os.fspath(path)!r}.") from None
    except InputError:
        raise
    except Exception as error:  # a damaged archive can fail anywhere inside zip, zlib, JSON or NumPy
        raise InputError(
            f"{os.fspath(path)!r} is not a saved posterior ({type(error).__name__}); pass a file written by "
            "posterior.save(path)."
        ) from error


def _umask() -> int:
    """Return the process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _from_parts(manifest: Any, arrays: dict[str, np.ndarray], path: str | os.PathLike[str]) -> Posterior:
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise InputError(f"{os.fspath(path)!r} is not a saved posterior; pass a file written by posterior.save(path).")
    if manifest["format_version"] > _FORMAT_VERSION:
        raise InputError(
            f"{os.fspath(path)!r} was written by a newer robula (format {manifest['format_version']}, this one reads "
            f"{_FORMAT_VERSION}); upgrade with: pip install --upgrade robula"
        )
    if arrays["draws"].ndim != 3 or arrays["row_weights"].ndim != 1:
        raise InputError(f"{os.fspath(path)!r} is damaged: its draws have shape {arrays['draws'].shape}.")
    return Posterior(
        draws=arrays["draws"],
        row_weights=arrays["row_weights"],
        parameter_names=tuple(manifest["parameter_names"]),
        stats={name: arrays[f"stats{index}"] for index, name in enumerate(manifest["stats"])},
        settings=manifest["settings"],
        citations=tuple(manifest["citations"]),
        variables={name: arrays[f"variables{index}"] for index, name in enumerate(manifest["variables"])},
        half_row_weights=arrays.get("half_row_weights", np.zeros((0, 2, 0))),
    )
