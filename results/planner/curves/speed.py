#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of `mezz_plan curve`, one thread, as the system counts them: three runs of each, in turn."""
import os
import subprocess
import sys
import tempfile
import time

RUNS = (["gen:zipf", "--ops=100000000"], ["gen:zipf", "--ops=100000000", "--keys=10000000"])


def run(folder, words):
    start = time.monotonic()
    child = subprocess.Popen([os.environ["MEZZ_PLAN"], "curve", *words, f"--out={folder}/curve"],
                             stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{words} failed")
    print(f"{' '.join(words)},{used.ru_utime + used.ru_stime:.1f},{time.monotonic() - start:.1f},"
          f"{used.ru_maxrss / 1024:.1f}", flush=True)


def main():
    print("trace,cpu_s,wall_s,rss_max_mib")
    with tempfile.TemporaryDirectory() as folder:
        for words in RUNS * 3:
            run(folder, words)


if __name__ == "__main__":
    main()
