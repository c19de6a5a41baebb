#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests a change concerns, for tools/check --changed.

    tools/changed.py BUILD_FOLDER [COMMIT]

Of what differs from COMMIT (HEAD), new files included. A test is concerned if its own source differs, if it includes
the header of a file that differs, or if its command names such a file. A file without a header of its name has that of
the longest name that its name begins with: cache/scm_tier_open.cc has cache/scm_tier.h. Prints three lines: the
programs to build, the tests to run as `ctest -R` takes them, and what is left to tools/check.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST = 20  # tests; a developer waits for them
SLOW = ("stress", "fuzz", "browser", "bench", "plugin", "install", "long")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tools/changed.py: git {' '.join(words)}: {done.stderr.strip()}")
    return [name for name in done.stdout.split("\0") if name]


def header_of(name, headers):
    """The header whose tests are those of the file; None: it has none."""
    path = Path(name)
    if path.suffix == ".h":
        return name
    if path.suffix != ".cc":
        return None
    named = [header for header in headers
             if Path(header).parent == path.parent and path.stem.startswith(Path(header).stem)]
    return max(named, key=len, default=None)


def concerned(tests, changed, headers, includes):
    """The names of the tests, the likeliest to fail first. `tests`: (name, source, labels, words of the command)."""
    wanted = {header_of(name, headers) for name in changed} - {None}
    ranked = []
    for name, source, labels, words in tests:
        if source in changed or any(word.endswith(tuple(changed)) for word in words):
            rank = 0
        elif wanted & includes(source):
            stems = {Path(header).stem for header in wanted}
            rank = 1 if any(Path(source).stem.startswith(stem) for stem in stems) else 2
        else:
            continue
        ranked.append((rank, any(label in SLOW for label in labels), name))
    return [name for _, _, name in sorted(ranked)]


def programs(tests, build):
    """What to build for them. A script that is given something of the build may need any of it."""
    if any(not source and any(word.startswith(build) for word in words) for _, source, _, words in tests):
        return ["all"]
    return sorted({Path(words[0]).name for _, source, _, words in tests if source})


def read_tests(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                            check=False)
    if listed.returncode != 0:
        sys.exit(f"tools/changed.py: {build}: {listed.stderr.strip()}")
    for test in json.loads(listed.stdout)["tests"]:
        words = test.get("command", [])
        labels = next((entry["value"] for entry in test.get("properties", []) if entry["name"] == "LABELS"), [])
        source = next((f"tests/{word[9:]}" for word in words if word.startswith("--source=")), "")
        yield test["name"], source, labels, words


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build, commit = sys.argv[1], (sys.argv[2:] or ["HEAD"])[0]
    changed = set(git("diff", "--name-only", "-z", commit, "--"))
    changed |= set(git("ls-files", "-z", "--others", "--exclude-standard"))
    headers = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.h")
    tests = {test[0]: test for test in read_tests(build)}

    def includes(source):
        path = ROOT / source
        return set(INCLUDE.findall(path.read_text())) if source and path.is_file() else set()

    names = concerned(tests.values(), changed, headers, includes)
    print(" ".join(programs([tests[name] for name in names[:MOST]], str(Path(build).resolve()))))
    print("|".join(f"^{re.escape(name)}$" for name in names[:MOST]))
    print(f"{len(names[MOST:])} more tests are left to tools/check" if len(names) > MOST else "")


if __name__ == "__main__":
    main()
