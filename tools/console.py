#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tools/grafana/mezzanine.html, a console that Prometheus serves by itself, of the panels of mezzanine.json.

    tools/console.py [--check]

--check: writes nothing, and ends with 1 if the file is another.
"""
import json
import re
import sys
from pathlib import Path

GRAFANA = Path(__file__).resolve().parent / "grafana"
UNITS = {"bytes": "B", "Bps": "B/s", "ops": "/s", "s": "s", "percentunit": "", "none": ""}
PAGE = """<!DOCTYPE html>
<!-- SPDX-License-Identifier: Apache-2.0. Made by tools/console.py from mezzanine.json. For
     prometheus --web.console.templates=FOLDER, which then shows it at /consoles/mezzanine.html. -->
<html lang="en">
<head>
<meta charset="utf-8">
<title>Mezzanine</title>
{{ $static := printf "%s/classic/static" pathPrefix }}
<!-- What Prometheus' own graphs are made of: first where Debian has it, then where its makers do. -->
<link rel="stylesheet" href="{{ $static }}/rickshaw/rickshaw.min.css">
<link rel="stylesheet" href="{{ $static }}/vendor/rickshaw/rickshaw.min.css">
<link rel="stylesheet" href="{{ $static }}/css/prom_console.css">
<script>const PATH_PREFIX = "{{ pathPrefix }}";</script>
<script src="{{ $static }}/d3/d3.min.js"></script>
<script>
const VENDOR = "{{ $static }}/vendor/rickshaw/";  // Go's templates take no JavaScript template with a value of theirs
function orElse(there, file) {
  if (!there) document.write(`<script src="${VENDOR}${file}"><\\/script>`);
}
orElse(window.d3, "vendor/d3.v3.js");
</script>
<script src="{{ $static }}/rickshaw/rickshaw.min.js"></script>
<script>orElse(window.Rickshaw, "rickshaw.min.js");</script>
<script src="{{ $static }}/js/prom_console.js"></script>
<style>
body { font-family: sans-serif; margin: 1em }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(24em, 1fr)); gap: 1em }
h2 { font-size: 1em }
</style>
</head>
<body>
<h1>Mezzanine</h1>
<p>{{ range query "mezzanine_cache_info" }}
{{ .Labels.instance }}: RocksDB {{ .Labels.rocksdb }}, {{ .Labels.description }}<br>
{{ end }}</p>
<main id="panels"></main>
<script>
const panels = PANELS;
for (const panel of panels) {
  const section = document.getElementById("panels").appendChild(document.createElement("section"));
  section.appendChild(document.createElement("h2")).textContent = panel.title;
  const node = section.appendChild(document.createElement("div"));
  const formatter = panel.share ? (value) => `${+(100 * value).toFixed(1)} %` : PromConsole.NumberFormatter.humanize;
  new PromConsole.Graph({node, expr: panel.lines.map(([, expr]) => expr), name: panel.lines.map(([name]) => name),
                         yUnits: panel.unit, yAxisFormatter: formatter, yHoverFormatter: formatter, duration: 600,
                         min: 0});
}
</script>
</body>
</html>
"""


def line(target):
    """(name, query)."""
    query = target["expr"].replace('{instance=~"$instance"}', "").replace('instance=~"$instance",', "")
    # The console's own form of a label's value; Prometheus would read the braces as its template.
    return re.sub(r"{{(\w+)}}", r"[[ \1 ]]", target["legendFormat"]), query.replace("$__rate_interval", "1m")


def panel(made):
    unit = made["fieldConfig"]["defaults"]["unit"]
    head = {"title": made["title"], "unit": UNITS[unit], "share": unit == "percentunit"}
    lines = ",\n".join(f"  {json.dumps(line(target))}" for target in made["targets"])
    return f'{json.dumps(head)[:-1]}, "lines": [\n{lines}]}}'


def console():
    text = ",\n".join(panel(made) for made in json.loads((GRAFANA / "mezzanine.json").read_text())["panels"])
    for mark in ("$", "{{"):
        if mark in text:
            sys.exit(f"tools/console.py: {mark} in a query that no console understands")
    return PAGE.replace("PANELS", f"[\n{text}]")


def main():
    page = GRAFANA / "mezzanine.html"
    if "--check" not in sys.argv[1:]:
        page.write_text(console())
    elif page.read_text() != console():
        sys.exit("tools/grafana/mezzanine.html is not what tools/console.py makes of mezzanine.json: run it")


if __name__ == "__main__":
    main()
