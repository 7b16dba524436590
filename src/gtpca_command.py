"""Starts the command ``gtpca``; an interrupt is one line, even while the library is imported.

This module is not part of the package, because importing anything from the package imports what the
package needs first. The garbage collector is paused until then: it would find nothing.
"""

import os

__all__ = ["main"]


def _leave(*_) -> None:
    """Exit at once: as long as there are only imports, there is nothing to clean up."""
    os.write(2, b"gtpca: stopped\n")
    os._exit(130)


try:
    import gc
    import signal
    import sys
    from contextlib import suppress
except KeyboardInterrupt:  # our first line
    _leave()


def main() -> None:
    """Import the command and run it."""
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not by background jobs
    if heeded:
        signal.signal(signal.SIGINT, _leave)
    cli = _imported()
    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        cli.main()
    except KeyboardInterrupt:  # a second one, while the command was leaving
        _leave()
    except SystemExit as end:
        if end.code == 130:  # Python would die of the signal if it had come within an exec()
            os._exit(130)
        raise
    finally:
        if heeded:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # there is nothing left to stop


def _imported():
    """``gtpca.cli``, after everything that the command needs.

    Modules stay in memory until the end: collecting garbage among them would take a fifth of the
    time.
    """
    gc.disable()
    from gtpca import cli

    with suppress(ImportError):  # cli reports what is missing
        from gtpca import commands

        commands.command(next(iter(sys.argv[1:]), ""))
    gc.freeze()
    gc.enable()
    return cli


if __name__ == "__main__":
    main()
