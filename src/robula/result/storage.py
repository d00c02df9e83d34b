"""Save and load a posterior: a NumPy archive of plain arrays with a readable JSON manifest, never pickle.

The arrays are stored as they are (draws hardly compress), so that a file cannot unfold into more than its own size. The
manifest has the shape and hash of every array, and its own hash.
"""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any, BinaryIO

import numpy as np

from robula._files import digest, file_path, sealed, unsealed, whole_file
from robula.exceptions import InputError
from robula.result.posterior import Posterior

_FORMAT = "robula-posterior"
#: Version 1 was compressed and without hashes; it is still read.
_FORMAT_VERSION = 2
_LARGEST_COMPRESSED = 2**30
_LARGEST_MANIFEST = 2**26


def save(posterior: Posterior, path: str | os.PathLike[str]) -> None:
    """Write the posterior to ``path``; the file appears whole or not at all."""
    arrays = {
        "draws": posterior.draws,
        "row_weights": posterior.row_weights,
        "half_row_weights": posterior.half_row_weights,
    }
    arrays |= {f"stats{index}": values for index, values in enumerate(posterior.stats.values())}
    arrays |= {f"variables{index}": values for index, values in enumerate(posterior.variables.values())}
    arrays = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    manifest = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "parameter_names": list(posterior.parameter_names),
        "citations": list(posterior.citations),
        "settings": dict(posterior.settings),
        "stats": list(posterior.stats),
        "variables": list(posterior.variables),
        "arrays": {name: {"shape": list(values.shape), "sha256": _hash(values)} for name, values in arrays.items()},
    }
    # Through JSON and back: the hash is of what will be read.
    manifest = sealed(json.loads(json.dumps(manifest)))
    target = file_path(path)
    if not target.parent.is_dir():
        raise InputError(f"cannot save to {str(target)!r}: the folder {str(target.parent)!r} does not exist.")
    with whole_file(target) as file:
        np.savez(file, manifest=np.array(json.dumps(manifest)), **arrays)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str]) -> Posterior:
    """Read a posterior written by :meth:`Posterior.save`; a damaged, changed or oversized file is refused.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Posterior
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path={path!r} is not a file name.")
    try:
        with open(path, "rb") as file:
            return read_posterior(file, os.fspath(path))
    except FileNotFoundError:
        raise InputError(f"there is no file {os.fspath(path)!r}.") from None


def read_posterior(file: BinaryIO, name: str | bytes) -> Posterior:
    """Read an open file as :func:`load` does; ``name`` is for messages."""
    try:
        manifest, arrays = _read(file, name)
        posterior = _from_parts(manifest, arrays)
        _check_shapes(posterior)
        return posterior
    except InputError:
        raise
    except _DamageError as error:
        raise InputError(f"{name!r} is damaged: {error}. Sample again, or take another copy of the file.") from error
    except Exception as error:  # a damaged archive can fail anywhere inside zip, zlib, JSON or NumPy
        raise InputError(
            f"{name!r} is not a saved posterior ({type(error).__name__}); pass a file written by posterior.save(path)."
        ) from error


class _DamageError(Exception):
    """The file is ours, and its content cannot be."""


def _hash(values: np.ndarray) -> str:
    return digest(values.dtype.str.encode() + values.tobytes())


def _read(file: BinaryIO, name: str | bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return manifest and arrays; nothing is unfolded before its declared size has been looked at."""
    with zipfile.ZipFile(file) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        stored = all(info.compress_type == zipfile.ZIP_STORED for info in archive.infolist())
        if sizes["manifest.npy"] > _LARGEST_MANIFEST:
            raise _DamageError(f"its manifest claims {sizes['manifest.npy']:,} bytes")
        manifest = json.loads(str(_array(archive, "manifest.npy", sizes)))
        if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
            raise InputError(f"{name!r} is not a saved posterior; pass a file written by posterior.save(path).")
        version = manifest["format_version"]
        if version > _FORMAT_VERSION:
            raise InputError(
                f"{name!r} was written by a newer robula (format {version}, this one reads {_FORMAT_VERSION}); "
                "upgrade with: pip install --upgrade robula"
            )
        whole = file.seek(0, os.SEEK_END)
        if sum(sizes.values()) > (_LARGEST_COMPRESSED if version < 2 else whole) or (version > 1 and not stored):
            raise _DamageError(f"a file of {whole:,} bytes claims to hold {sum(sizes.values()):,}")
        if version > 1:
            try:
                manifest = unsealed(manifest)
            except ValueError as error:
                raise _DamageError(f"its manifest has {error}") from None
        names = [member for member in sizes if member != "manifest.npy"]
        arrays = {member.removesuffix(".npy"): _array(archive, member, sizes) for member in names}
    for array, facts in manifest.get("arrays", {}).items():
        if (
            array not in arrays
            or list(arrays[array].shape) != facts["shape"]
            or _hash(arrays[array]) != facts["sha256"]
        ):
            raise _DamageError(f"the array {array!r} is not the one that was saved")
    return manifest, arrays


def _array(archive: zipfile.ZipFile, member: str, sizes: dict[str, int]) -> np.ndarray:
    """Read one member, whose header may not promise more than the archive says it holds."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file)
        if int(np.prod(shape, dtype=object)) * dtype.itemsize > sizes[member]:
            raise _DamageError(f"{member} promises an array of shape {shape} and dtype {dtype}")
    with archive.open(member) as file:
        values: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    return values


def _from_parts(manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> Posterior:
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


def _check_shapes(posterior: Posterior) -> None:
    draws, weights, halves = posterior.draws, posterior.row_weights, posterior.half_row_weights
    dim = len(posterior.parameter_names)
    if draws.ndim != 3 or draws.dtype != np.float64 or draws.shape[-1] != dim:
        raise _DamageError(f"its draws have shape {draws.shape} and dtype {draws.dtype} for {dim} parameters")
    if not np.isfinite(draws).all():
        raise _DamageError("its draws are not all finite")
    if weights.ndim != 1 or weights.dtype.kind != "f" or not ((weights >= 0) & (weights <= 1)).all():
        raise _DamageError("its row weights are not numbers between 0 and 1")
    if halves.ndim != 3 or halves.shape[1] != 2 or halves.shape[2] not in (0, len(weights)):
        raise _DamageError(f"its row weights by halves have shape {halves.shape}")
    for name, values in {**posterior.stats, **posterior.variables}.items():
        if values.shape[:2] != draws.shape[:2] or values.dtype.kind not in "biuf":
            raise _DamageError(f"{name!r} has shape {values.shape} and dtype {values.dtype} beside {draws.shape}")
