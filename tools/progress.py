# SPDX-License-Identifier: Apache-2.0
"""How far a tool has come: percent, rate and the time left, on stderr. On a terminal it is a line that is drawn again
with each item and goes at the end; elsewhere a line a minute at most. A module of tools that measure.

    for run in progress.each(runs, "tools/restart", "runs"):
        progress.say(measure(run))  # what goes to stdout, so that it does not land in the line
"""
import sys
import time

MINUTE = 60
_drawn = False


def _text(tool, unit, done, total, seconds):
    parts = [f"{tool}: {done} of {total} {unit}", f"{100 * done // total} %"]
    if done and seconds > 0:
        a_minute = MINUTE * done / seconds
        left = (total - done) * seconds / done
        when = f"{left:.0f} s left" if left < 2 * MINUTE else f"{left / MINUTE:.0f} min left"
        parts += [f"{a_minute:.3g} a minute", when]
    return ", ".join(parts)


def _clear(file):
    global _drawn
    if _drawn:
        file.write("\r\033[K")
        file.flush()
        _drawn = False


def each(items, tool, unit, total=None, done_first=0, file=None, now=time.monotonic):
    """The items, one after the other. `total`: how many there are, if they are no list. `done_first`: 1 if an item is
    done when it comes, 0 if the loop's body does it."""
    global _drawn
    file = file or sys.stderr
    total = len(items) if total is None else total
    began = told = now()
    try:
        for done, item in enumerate(items, done_first):
            if file.isatty():
                _clear(file)
                file.write(_text(tool, unit, done, total, now() - began))
                file.flush()
                _drawn = True
            elif done and now() - told >= MINUTE:
                told = now()
                print(_text(tool, unit, done, total, told - began), file=file, flush=True)
            yield item
    finally:
        _clear(file)


def say(line, to=None, file=None):
    """Prints a line, of the result if `to` is left out."""
    _clear(file or sys.stderr)
    print(line, file=to or sys.stdout, flush=True)
