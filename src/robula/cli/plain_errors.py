"""One-line errors and exit codes for people; the full trace with --debug."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from robula._option_words import as_options
from robula.exceptions import RobulaError

#: The input or the options cannot be used; something failed that should not have; interrupted by the user.
WRONG_INPUT, FAILED, INTERRUPTED = 2, 1, 130
# Commands that pass their options on to Python's arguments of the same name.
_SPEAK_OF_OPTIONS = ("fit", "plan")


@contextmanager
def plain_errors(command: str, *, debug: bool) -> Iterator[None]:
    """Turn errors into one line on standard error and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        _tell(command, "interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        if isinstance(error, RobulaError):
            _tell(command, str(error))
            raise typer.Exit(WRONG_INPUT) from None
        if isinstance(error, OSError) and error.strerror:
            place = f" {str(error.filename)!r}" if error.filename is not None else ""
            _tell(command, f"cannot use{place or ' a file'}: {error.strerror}.")
            raise typer.Exit(WRONG_INPUT) from None
        detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _tell(command, f"failed ({detail}). Run again with --debug for the trace.")
        raise typer.Exit(FAILED) from None


def one_line(text: str) -> str:
    """Return a text without line breaks and control characters."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(text.split()))


def _tell(command: str, message: str) -> None:
    told = as_options(message) if command in _SPEAK_OF_OPTIONS else message
    typer.echo(f"robula {command}: {one_line(told)}", err=True)
