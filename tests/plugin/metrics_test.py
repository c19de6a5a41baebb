#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes a db_bench that knows nothing of us, and answers every query of the dashboard.

    metrics_test.py BUILD_FOLDER DB_BENCH ROCKSDB_VERSION SANITIZE
"""
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRAFANA = ROOT / "tools" / "grafana"
WAIT_SECONDS_MAX = 150  # for what comes after seconds on an idle machine


def skip(why):
    print(f"SKIPPED: {why}", file=sys.stderr)
    sys.exit(77)


def check(holds, claim):
    if not holds:
        sys.exit(f"FAILED: {claim}")
    print(f"ok: {claim}")


def wait_for(what, ready):
    """The first true answer of ready(), which is asked again and again."""
    until = time.monotonic() + WAIT_SECONDS_MAX
    while time.monotonic() < until:
        try:
            if answer := ready():
                return answer
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit(f"FAILED: {what}: not within {WAIT_SECONDS_MAX} s")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def fetch(url, accept="*/*"):
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": accept}), timeout=30) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def total(text, name):
    return sum(float(line.split()[-1]) for line in text.splitlines() if re.match(name + r"[{ ]", line))


class Prometheus:
    def __init__(self, folder, target):
        config = folder / "prometheus.yaml"
        config.write_text((GRAFANA / "prometheus.yaml").read_text().replace("127.0.0.1:9464", target)
                          .replace("scrape_interval: 15s", "scrape_interval: 1s")
                          .replace("alerts.yaml", str(GRAFANA / "alerts.yaml")))
        self.address = f"127.0.0.1:{free_port()}"
        self.log = folder / "prometheus.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
                 f"--web.listen-address={self.address}", f"--web.console.templates={GRAFANA}"], stdout=log, stderr=log)

    def get(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            return json.loads(fetch(url)[0])
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it starts still
                raise
            sys.exit(f"FAILED: {url}: {error.read().decode()}")

    def query(self, expression):
        """[(labels, value)] now."""
        answer = self.get("query", query=expression)
        return [(result["metric"], float(result["value"][1])) for result in answer["data"]["result"]]


def check_text(target):
    """What is served is good to promtool, and the same in both formats."""
    old, old_type = fetch(f"http://{target}/metrics")
    lint = subprocess.run(["promtool", "check", "metrics"], input=old, capture_output=True, text=True)
    check(lint.returncode == 0 and not lint.stderr, f"promtool check metrics finds nothing: {lint.stderr}")
    new, new_type = fetch(f"http://{target}/metrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    check("version=0.0.4" in old_type and "openmetrics-text" in new_type, "both formats are served")

    def names(text):
        return {line.split("{")[0].split()[0] for line in text.splitlines() if not line.startswith("#")}
    check(names(old) == names(new), f"both have the same {len(names(new))} names: {names(old) ^ names(new)}")


def check_numbers(prometheus, target):
    before = total(fetch(f"http://{target}/metrics")[0], "mezzanine_scm_put_total")
    wait_for("a scrape after that", lambda: sum_of(prometheus, "mezzanine_scm_put_total") >= before)
    scraped = sum_of(prometheus, "mezzanine_scm_put_total")
    after = total(fetch(f"http://{target}/metrics")[0], "mezzanine_scm_put_total")
    check(0 < before <= scraped <= after, f"the numbers are the cache's: {before} <= {scraped} <= {after}")


def sum_of(prometheus, name):
    return sum(value for _, value in prometheus.query(name))


def numbers(prometheus, panel, expression):
    """What it gives, without what was divided by 0. (Over a database in memory nothing is worth packing.)"""
    found = prometheus.query(expression)
    return [(metric, value) for metric, value in found if panel == "Packing" or not math.isnan(value)]


def check_dashboard(prometheus, version):
    dashboard = json.loads((GRAFANA / "mezzanine.json").read_text())
    count = 0
    for panel in dashboard["panels"]:
        if panel["title"] == "Heirs" and version.startswith("7."):
            print("left out: Heirs, which need RocksDB 8.9")
            continue
        for query in panel["targets"]:
            expression = query["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m")
            check("$" not in expression, f"{panel['title']}: no other variable in {query['expr']}")
            found = wait_for(f"{panel['title']}: {expression}",
                             lambda p=panel["title"], e=expression: numbers(prometheus, p, e))
            labels = set(re.findall(r"{{(\w+)}}", query["legendFormat"]))
            check(all(labels <= set(metric) for metric, _ in found), f"{panel['title']}: {query['legendFormat']}")
            count += 1
    check(count > 30, f"all {count} queries of {len(dashboard['panels'])} panels have data")


def check_console(prometheus, version):
    made = subprocess.run([ROOT / "tools/console.py", "--check"], capture_output=True, text=True)
    check(made.returncode == 0, f"mezzanine.html is made of mezzanine.json: {made.stderr}")
    page, kind = fetch(f"http://{prometheus.address}/consoles/mezzanine.html")
    check(kind.startswith("text/html") and f"RocksDB {version}" in page, "the console names the cache's RocksDB")
    graphs = {file: fetch(f"http://{prometheus.address}{file}")[0]
              for file in re.findall(r'<script src="([^"]+)"></script>', page)}
    check(len(graphs) == 3 and any("PromConsole.Graph" in text for text in graphs.values()),
          f"what draws it is served: {', '.join(graphs)}")


def check_rules(folder):
    tests = folder / "alerts_test.yaml"
    alerts = GRAFANA / "alerts.yaml"
    tests.write_text((ROOT / "tests/plugin/alerts_test.yaml").read_text().replace("ALERTS", str(alerts)))
    for command in (["promtool", "check", "rules", alerts], ["promtool", "test", "rules", tests]):
        run = subprocess.run(command, capture_output=True, text=True)
        check(run.returncode == 0, f"{' '.join(map(str, command[:3]))}: {run.stdout}{run.stderr}")
    page = (ROOT / "docs/how-to/watch.md").read_text()
    anchors = {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-")
               for line in page.splitlines() if line.startswith("#")}
    for name, runbook in re.findall(r"alert: (\w+).*?runbook: (\S+)", alerts.read_text(), re.S):
        check(f"`{name}`" in page and runbook.removeprefix("docs/how-to/watch.md#") in anchors,
              f"{name} has its line in the runbook, and {runbook} is there")


def main():
    build, db_bench, version, sanitize = sys.argv[1:]
    if sanitize:
        skip(f"an uninstrumented program cannot load a library built with -fsanitize={sanitize}")
    if not os.access(db_bench, os.X_OK):
        skip("db_bench not found: install rocksdb-tools, or build RocksDB with tools/rocksdb")
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        skip("Prometheus not found: tools/install_deps metrics")
    with tempfile.TemporaryDirectory() as nowhere:
        told = subprocess.run([db_bench, "--benchmarks=", f"--db={nowhere}"], capture_output=True, text=True)
    if f"version {version}" not in told.stdout + told.stderr:
        skip(f"{db_bench} is not of RocksDB {version}")
    target = f"127.0.0.1:{free_port()}"
    processes = []
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shm) as name:
        folder = Path(name)
        try:
            check_rules(folder)
            environment = dict(
                os.environ, LD_PRELOAD=f"{build}/lib/libmezzanine_preload.so",
                MEZZANINE_CACHE=f"mezzanine://scm=8M@{folder}/mezz;curve=1;"
                                f"metrics=tcp:{target}")
            database = [db_bench, f"--db={folder}/db", "--num=60000", "--value_size=1000", "--compression_type=none",
                        f"--write_buffer_size={4 << 20}", f"--cache_size={4 << 20}", "--disable_wal=1", "--threads=1"]
            with (folder / "out").open("w") as out:
                subprocess.run([*database, "--benchmarks=fillrandom"], stdout=out, stderr=out, check=True)
                processes.append(subprocess.Popen(
                    [*database, "--benchmarks=readwhilewriting", "--use_existing_db=1", "--duration=600",
                     "--benchmark_write_rate_limit=2000000"], env=environment, stdout=out, stderr=out))
            wait_for("the program serves metrics", lambda: fetch(f"http://{target}/metrics"))
            prometheus = Prometheus(folder, target)
            processes.append(prometheus.process)
            wait_for("Prometheus scrapes it",
                     lambda: all(value == 1 for _, value in prometheus.query("up")) and prometheus.query("up"))
            wait_for("blocks in SCM", lambda: sum_of(prometheus, "mezzanine_scm_put_total") > 100)
            wait_for("a curve", lambda: sum_of(prometheus, "mezzanine_curve_hit_ratio") > 0)
            check_text(target)
            check_numbers(prometheus, target)
            check_dashboard(prometheus, version)
            check_console(prometheus, version)
            rules = prometheus.get("rules")["data"]["groups"][0]["rules"]
            check(all(rule["health"] != "err" for rule in rules), f"{len(rules)} alert rules are evaluated")
            check(processes[0].poll() is None, "the program lives")
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()


main()
