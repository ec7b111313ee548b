"""The `bulkwire` command."""

import signal
import sys

from bulkwire._bulkwire import run_command


def main() -> None:
    """Runs the command line of this process and ends it."""
    # The command hears signals itself; the interpreter's own handler would speak up as well.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise SystemExit(run_command(sys.argv))
