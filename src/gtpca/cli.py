"""The command ``gtpca``: errors are reported in one line, without a traceback."""

from __future__ import annotations

import errno
import re
import sys
import warnings

from gtpca.optional import missing
from gtpca.text import did_you_mean

__all__ = ["main"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments=None) -> None:
    """Run the command and exit.

    The exit code is 0 on success, 1 if the work failed, 2 for bad input, 130 after an interrupt.

    Parameters
    ----------
    arguments : list of str or None
        Default: those of the process.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = _run(sys.argv[1:] if arguments is None else list(arguments))
            if sys.stdout is not None:  # closed by the caller, as by `>&-`
                sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except Exception as error:
        _leave(*_wording(error))
    if code == 130:
        _leave("stopped", 130)
    sys.exit(code if isinstance(code, int) else 0)


def _run(arguments):
    try:
        from gtpca.commands import app
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich"):
            raise
        _leave(str(missing(error.name, "cli")), 2)
    return app(arguments or ["--help"], prog_name="gtpca", standalone_mode=False)


def _wording(error) -> tuple[str, int]:
    """Message and exit code for errors that a user can fix; all others are raised again."""
    if type(error).__name__ == "Abort":
        return "stopped", 130
    if hasattr(error, "format_message"):  # from typer: a wrong option or argument
        path = getattr(getattr(error, "ctx", None), "command_path", "gtpca")
        return f"{_sentence(error.format_message())} See `{path} --help`.", 2
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}", 1
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}", 1 if error.errno in FULL else 2
    if isinstance(error, (ValueError, OSError, ImportError)):
        return str(error), 2
    raise error


def _sentence(message) -> str:
    """A message of typer, with the choices that may have been meant."""
    message = message.replace("Value error, ", "").rstrip(".")
    found = re.search("'([^']*)' is not one of (.*)", message)
    hint = did_you_mean(found[1], re.findall("'([^']*)'", found[2])) if found else ""
    return message + hint if message.endswith("?") else f"{message}.{hint}"


def _show_warning(message, category, *place, **more) -> None:
    print(f"gtpca: warning: {_one_line(str(message))}", file=sys.stderr)


def _leave(message, code) -> None:
    print(f"gtpca: {_one_line(message)}", file=sys.stderr)
    sys.exit(code)


def _one_line(message) -> str:
    """A message in one line; blanks within a line, as in file names, are kept."""
    return re.sub(r"\s*[\r\n]\s*", " ", message).strip()


if __name__ == "__main__":
    main()
