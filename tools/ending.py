# SPDX-License-Identifier: Apache-2.0
"""An orderly end by signal: else a db_bench works on, and gigabytes stay in memory. A module of tools that measure.

    ending.orderly()            # from now on SIGINT, SIGTERM and SIGHUP end as sys.exit() does: `finally` runs
    done = ending.run(command)  # as subprocess.run, in any thread; such a signal kills its child first
"""
import signal
import subprocess
import sys

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_children = set()
_ended = False


def _end(number, _frame):
    global _ended
    _ended = True
    for one in SIGNALS:  # a terminal that goes says so twice: the second would cut short what `finally` does
        signal.signal(one, signal.SIG_IGN)
    for child in list(_children):  # the main thread would wait for threads that wait for these
        child.kill()
    sys.exit(128 + number)


def orderly():
    """To be called by the main thread. A signal that is ignored, such as SIGHUP under nohup, stays so."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def run(command, *, timeout=None, **more):
    with subprocess.Popen(command, **more) as child:
        try:
            _children.add(child)
            if _ended:  # begun by a thread just as the signal came, too late to be seen by it
                child.kill()
            out, err = child.communicate(timeout=timeout)
        finally:
            child.kill()  # nothing, to one that has ended
            _children.discard(child)
    return subprocess.CompletedProcess(command, child.returncode, out, err)
