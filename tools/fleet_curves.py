#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One curve of the traces of many hosts: `mezz_plan curve` of each on a Dask cluster, `mezz_plan merge` as a tree.

    tools/fleet_curves.py --out=FILE --kept=FOLDER [--workers=N | --scheduler=ADDRESS] [--mezz_plan=PATH]
                          [--retries=N] [--list=FILE] [TRACE...] -- --dram=SIZES --scm=SIZES [FLAGS of mezz_plan curve]

    TRACE          a path, a glob or a URL that fsspec knows (s3://bucket/*.trace); what is not a file is fetched to the
                   worker's disk first, and called by its path there
    --list         a file of such names, a line each
    --kept         folder or URL, the same on all workers, for the curve of each trace: a rerun makes only those that
                   are missing, or whose trace, flags, files that flags name, or mezz_plan have changed
    --workers      of a cluster on this machine (default: one for each core), or
    --scheduler    that of a cluster there is, such as tcp://host:8786; --mezz_plan is then its path on the workers, too
    --retries      what fails is tried so often again (default 2), on any worker, before its trace is named

The curve is, byte for byte behind its manifest, that of a serial merge of the same curves, whatever the order. A worker
that dies costs the task that it had in hand. If a trace fails to the end, the others are still done and kept, the trace
is named, nothing is written, and the exit status is 1. Needs dask.distributed: tools/install_deps fleet.
"""
import argparse
import hashlib
import itertools
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import progress

try:
    import dask
    import distributed
    import fsspec
except ImportError as missing:
    distributed, why_not = None, missing

EXIT_FAILED, EXIT_REFUSED = 1, 2
FAN_IN = 16          # curves that one task merges
IN_HAND_PER_WORKER = 4  # tasks that the scheduler knows of at a time, however many traces there are


# ---- On a worker. A task is done again if its worker died, so each writes one file at the end, whole.

def run_plan(program, words, cwd):
    done = subprocess.run([program, *words], cwd=cwd, capture_output=True, text=True, errors="replace")
    if done.returncode < 0:
        raise RuntimeError(f"mezz_plan {words[0]} was ended by signal {-done.returncode}")
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"mezz_plan {words[0]} left with status {done.returncode}")


def is_local(fs):
    return "file" in ((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)


def keep(kept, name, made):
    fs, folder = fsspec.core.url_to_fs(kept)
    if is_local(fs):
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{name}.", delete=False) as file:
            file.write(made.read_bytes())
        os.replace(file.name, f"{folder}/{name}")
    else:
        fs.pipe_file(f"{folder}/{name}", made.read_bytes())  # whole or not at all, on every object store


def scratch():
    return tempfile.TemporaryDirectory(prefix="mezz-", dir=distributed.get_worker().local_directory)


def digest_of(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def files_of(flags):
    """Digests of the files that flags name, as they are here: --pack_ratio=FILE, or FILE behind its flag."""
    values = [flag.partition("=")[2] or flag for flag in flags]
    return [digest_of(value) for value in values if os.path.isfile(value)]


def make_curve(trace, settings):
    """The curve's name among those kept, and whether it was there."""
    said_by = (trace.fs.to_json(), trace.path, trace.fs.ukey(trace.path), settings["flags"], settings["digest"],
               *files_of(settings["flags"]))
    name = hashlib.sha256(repr(said_by).encode()).hexdigest()[:40] + ".curve"
    fs, folder = fsspec.core.url_to_fs(settings["kept"])
    if fs.exists(f"{folder}/{name}"):
        return name, True
    with scratch() as here:
        here = pathlib.Path(here)
        path = trace.path
        if not is_local(trace.fs) or trace.compression:
            path = path.lstrip("/")
            (here / path).parent.mkdir(parents=True, exist_ok=True)
            with trace as source, open(here / path, "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
        run_plan(settings["program"], ["curve", path, "--out=made.curve", *settings["flags"]], here)
        keep(settings["kept"], name, here / "made.curve")
    return name, False


def merge_curves(names, settings):
    """The name of their sum among those kept."""
    fs, folder = fsspec.core.url_to_fs(settings["kept"])
    name = hashlib.sha256(repr((names, settings["digest"])).encode()).hexdigest()[:40] + ".sum"
    with scratch() as here:
        here = pathlib.Path(here)
        for one in names:
            (here / one).write_bytes(fs.cat_file(f"{folder}/{one}"))
        run_plan(settings["program"], ["merge", *names, "--out=made.sum"], here)
        keep(settings["kept"], name, here / "made.sum")
    return name


# ---- In the driver. It holds names and a bounded number of tasks, never a curve.

def map_bounded(client, function, items, settings, arguments):
    """Yields (position, result, error) of function(item, settings) as they end, a bounded number in hand."""
    items = enumerate(items)
    most = IN_HAND_PER_WORKER * max(1, len(client.scheduler_info()["workers"]))

    def submit(position, item):
        future = client.submit(function, item, settings, retries=arguments.retries, pure=False)
        at[future.key] = position
        return future

    at = {}
    running = distributed.as_completed([submit(*one) for one in itertools.islice(items, most)])
    for future in running:
        position, error = at.pop(future.key), future.exception()
        if isinstance(error, distributed.KilledWorker):
            error = "the worker died whenever it was tried; see its log, and whether there is memory enough"
        yield position, (None if error else future.result()), error
        future.release()
        for one in itertools.islice(items, 1):
            running.add(submit(*one))


def open_all(names):
    """The traces that are meant, each once, in the order of their names."""
    traces = {}
    for name in names:
        found = fsspec.open_files(name, "rb")
        if not found:
            raise ValueError(f"{name} matches nothing; name a trace, or a glob that finds some")
        for trace in found:
            traces[trace.fs.to_json(), trace.path] = trace
    return [traces[at] for at in sorted(traces)]


def map_curves(client, traces, settings, arguments):
    """Names of the curves in the order of the traces; None where none could be made."""
    names, kept, failed = [None] * len(traces), 0, 0
    curves = map_bounded(client, make_curve, traces, settings, arguments)
    for position, result, error in progress.each(curves, "fleet_curves", "curves", len(traces), done_first=1):
        if error:
            failed += 1
            progress.say(f"fleet_curves: trace {traces[position].full_name} failed: {error}", to=sys.stderr)
            continue
        names[position], was_kept = result
        kept += was_kept
    print(f"fleet_curves: {len(traces) - failed} of {len(traces)} curves, {kept} of them kept from before",
          file=sys.stderr)
    return names


def reduce_curves(client, names, settings, arguments):
    while len(names) > 1:
        groups = [names[at:at + FAN_IN] for at in range(0, len(names), FAN_IN)]
        sums = [None] * len(groups)
        for position, result, error in map_bounded(client, merge_curves, groups, settings, arguments):
            if error:
                raise RuntimeError(f"merging failed: {error}")
            sums[position] = result
        names = sums
    return names[0]


def check(arguments):
    for tier in ("dram", "scm"):
        if not any(flag.startswith((f"--{tier}=", f"-{tier}=")) for flag in arguments.flags):
            raise ValueError(f"--{tier} is missing behind --; name its sizes, or each trace chooses its own grid, and "
                             "curves of different grids do not merge")
    for flag in arguments.flags:
        if flag.startswith("--out"):
            raise ValueError(f"{flag} stands behind --; put it before, it is the driver's")
    program = shutil.which(arguments.mezz_plan)
    if program is None:
        raise ValueError(f"--mezz_plan={arguments.mezz_plan} is no program; build mezz_plan, or say where it is")
    return os.path.abspath(program)


def run(arguments):
    program = check(arguments)
    names = arguments.trace
    if arguments.list:
        names = names + pathlib.Path(arguments.list).read_text().split("\n")
    traces = open_all([name for name in names if name])
    if not traces:
        raise ValueError("no trace; name some, or --list=FILE")
    fs, folder = fsspec.core.url_to_fs(arguments.kept)
    fs.makedirs(folder, exist_ok=True)
    settings = {"program": program, "flags": arguments.flags,
                "kept": os.path.abspath(folder) if is_local(fs) else arguments.kept,
                "digest": digest_of(program)}
    if arguments.scheduler:
        client = distributed.Client(arguments.scheduler)
    else:
        # One task at a time, or one that kills its worker would bring others under suspicion.
        dask.config.set({"distributed.scheduler.worker-saturation": 1.0})
        # Its workers' logs repeat what is said here of a trace that fails.
        client = distributed.Client(n_workers=arguments.workers or os.cpu_count(), threads_per_worker=1,
                                    dashboard_address=None, silence_logs=logging.CRITICAL)
    with client:
        curves = map_curves(client, traces, settings, arguments)
        if None in curves:
            print(f"fleet_curves: {arguments.out} is not written; mend the traces named above, or leave them out, and "
                  "run this again: the other curves are kept", file=sys.stderr)
            return EXIT_FAILED
        root = reduce_curves(client, curves, settings, arguments)
    pathlib.Path(f"{arguments.out}.new").write_bytes(fs.cat_file(f"{folder}/{root}"))
    os.replace(f"{arguments.out}.new", arguments.out)
    return 0


def main():
    own, flags = sys.argv[1:], []
    if "--" in own:
        own, flags = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--kept", required=True)
    cluster = parser.add_mutually_exclusive_group()
    cluster.add_argument("--workers", type=int)
    cluster.add_argument("--scheduler")
    parser.add_argument("--mezz_plan", default="build/release/bin/mezz_plan")
    parser.add_argument("--retries", type=int, default=2)
    parser.add_argument("--list")
    parser.add_argument("trace", nargs="*")
    arguments = parser.parse_args(own)
    arguments.flags = flags
    if distributed is None:
        print(f"fleet_curves: {sys.executable}: {why_not}; tools/install_deps fleet installs it for Debian's "
              "/usr/bin/python3", file=sys.stderr)
        return EXIT_REFUSED
    try:
        return run(arguments)
    except (ValueError, OSError) as wrong:
        print(f"fleet_curves: {wrong}", file=sys.stderr)
        return EXIT_REFUSED
    except RuntimeError as failed:
        print(f"fleet_curves: {failed}", file=sys.stderr)
        return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
