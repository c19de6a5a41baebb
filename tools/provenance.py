# SPDX-License-Identifier: Apache-2.0
"""Which code and which binaries make results, for their manifest; and whether earlier ones may stand beside them. A
module of the tools that measure.

    now = provenance.of(program, *libraries) | {"scale": 32}  # before anything runs: the tree may change meanwhile
    if why := provenance.unlike(provenance.read(folder), now):
        ...  # names of what differs: what lies in the folder is not kept
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNKNOWN = "unknown"
CHANGES = "uncommitted changes"


def git(*words):
    """What git says of this tree; None if it does not know it. A repository that it merely lies in is not asked."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False,
                              env=os.environ | {"GIT_CEILING_DIRECTORIES": str(ROOT.parent)})
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def rocksdb_of(program):
    """The shared RocksDB that it loads, if it does: most of what is measured."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [pathlib.Path(path) for path in re.findall(r"librocksdb\S* => (/\S+)", said)]


def of(program, *libraries):
    """For a manifest. A tree that git does not know counts as changed: nobody can tell."""
    commit, changes = git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit or UNKNOWN, "changed": commit is None or changes != "",
            "binaries": {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                         for path in (program, *rocksdb_of(program), *libraries)}}


def read(folder):
    """The manifest of results; empty if there is none."""
    try:
        return json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError):
        return {}


def unlike(manifest, now):
    """Names of what keeps results with that manifest from standing beside those of `now`. Two changed trees are never
    alike, whatever their commit."""
    if not manifest:
        return ["no manifest.json"]
    names = [name for name, value in now.items() if name != "changed" and manifest.get(name) != value]
    return names + ([CHANGES] if now["changed"] or manifest.get("changed", True) else [])
