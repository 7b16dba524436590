"""The command ``gtpca``: what is wrong is said in one line, without a traceback."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments=None) -> None:
    """Run the command and exit: 0 if all went well, 1 if work failed, 2 for bad input.

    Parameters
    ----------
    arguments : list of str or None
        Default: those of the process.
    """
    try:
        from gtpca.commands import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        _leave(f'{error.name} is missing: pip install "gtpca[cli]"')
    try:
        code = app(arguments, prog_name="gtpca", standalone_mode=False)
    except KeyboardInterrupt:
        _leave("stopped; the same command goes on from here", 130)
    except Exception as error:
        _leave(_wording(error))
    sys.exit(code if isinstance(code, int) else 0)


def _wording(error) -> str:
    """The message for what a user can mend; all other errors are raised again."""
    if type(error).__name__ == "Abort":
        return "stopped"
    if hasattr(error, "format_message"):  # of typer: a wrong option or argument
        return error.format_message()
    if isinstance(error, (ValueError, OSError, ImportError)):
        return str(error)
    raise error


def _leave(message, code=2) -> None:
    print(f"gtpca: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
