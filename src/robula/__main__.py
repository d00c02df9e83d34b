"""``python -m robula`` is the ``robula`` command."""

from robula.cli.main import app

if __name__ == "__main__":
    app(prog_name="robula")
