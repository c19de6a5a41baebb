# SPDX-License-Identifier: Apache-2.0
"""How far a tool has come: percent, rate and the time left, on stderr. On a terminal it is a line that is drawn again
and again and goes at the end; elsewhere a line a minute at most. A module of tools that measure.

    for run in progress.each(runs, "tools/restart", "runs"):
        progress.say(measure(run))  # what goes to stdout, so that it does not land in the line

And a command for scripts that build: COMMAND's output goes to LOG (>>LOG: behind what it has), and its steps are told,
as ninja and make number them. Ends as COMMAND does.

    tools/progress.py LOG TOOL COMMAND...
"""
import re
import subprocess
import sys
import time

MINUTE = 60
STEP = re.compile(rb"^\[\s*(\d+)(?:/(\d+)|%)\]", re.M)
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


class _Display:
    def __init__(self, tool, unit, file, now):
        self.tool, self.unit, self.now = tool, unit, now
        self.file = file or sys.stderr
        self.began = self.told = now()

    def show(self, done, total):
        global _drawn
        if self.file.isatty():
            _clear(self.file)
            self.file.write(_text(self.tool, self.unit, done, total, self.now() - self.began))
            self.file.flush()
            _drawn = True
        elif done and self.now() - self.told >= MINUTE:
            self.told = self.now()
            print(_text(self.tool, self.unit, done, total, self.told - self.began), file=self.file, flush=True)

    def clear(self):
        _clear(self.file)


def each(items, tool, unit, total=None, done_first=0, file=None, now=time.monotonic):
    """The items, one after the other. `total`: how many there are, if they are no list. `done_first`: 1 if an item is
    done when it comes, 0 if the loop's body does it."""
    total = len(items) if total is None else total
    display = _Display(tool, unit, file, now)
    try:
        for done, item in enumerate(items, done_first):
            display.show(done, total)
            yield item
    finally:
        display.clear()


def last_step(output):
    """(done, total) of the last step that ninja ("[3/12]") or make ("[ 25%]") told, or None."""
    steps = STEP.findall(output)
    if not steps:
        return None
    done, total = steps[-1]
    return int(done), int(total or 100)


def follow(command, log, tool, file=None, now=time.monotonic, every=1.0):
    """Runs the command and tells its steps. Returns its status."""
    display = _Display(tool, "steps of the build", file, now)
    path, mode = (log[2:], "ab") if log.startswith(">>") else (log, "wb")
    with open(path, mode) as to, open(path, "rb") as written:
        written.seek(0, 2)
        child = subprocess.Popen(command, stdout=to, stderr=subprocess.STDOUT)
        step = None
        try:
            while child.poll() is None:
                step = last_step(written.read()) or step
                if step:
                    display.show(*step)
                try:
                    child.wait(every)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            display.clear()
            child.wait()
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def say(line, to=None, file=None):
    """Prints a line, of the result if `to` is left out."""
    _clear(file or sys.stderr)
    print(line, file=to or sys.stdout, flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(follow(sys.argv[3:], sys.argv[1], sys.argv[2]))
