# SPDX-License-Identifier: Apache-2.0
"""Answers as mezz_plan writes them (docs/reference/plan.md, "The JSON"), with everything that its page can show."""
import copy
import math

from report_fixture import HOSTILE

GIB = 1 << 30
DRAM_PER_GIB, SCM_PER_GIB, FLASH_PER_TIB, YEARS, WATT_YEARS = 13.0, 5.0, 300.0, 4, 1.4
SERVERS = {"one_socket": (1, 16, 2600, 900), "two_socket": (2, 32, 3900, 1800)}  # sockets, cores, chassis, processors
DRAMS = [64, 128, 192, 256, 512]
SCMS = [0, 128, 256, 512, 1024]
FOOTPRINT = 1500 * GIB
TARGETS = [("throughput>=0.95*baseline", "throughput", "/s", True, True), ("p99<=1ms", "p99", "us", False, False)]


def hits(dram, scm):
    """Shares found in DRAM and in SCM, by GiB."""
    share = lambda gib: 0.97 * min(1.0, gib * GIB / FOOTPRINT) ** 0.32
    return share(dram), share(dram + scm) - share(dram)


def figures(cores, dram, scm):
    in_dram, in_scm = hits(dram, scm)
    miss = 1 - in_dram - in_scm
    core_ns = 3000 + 400 * in_scm + 9000 * miss
    return in_dram, in_scm, cores * 1e9 / core_ns, 90 + 2500 * miss


def bracket(value, width=0.08):
    return {"low": value * (1 - width), "value": value, "high": value * (1 + width)}


def steps(server, dram, scm):
    sockets, _, chassis, processor = SERVERS[server]
    watts = 180 * sockets + dram * 0.05 + scm * 0.03
    lines = [(["chassis"], f"{server}: chassis", chassis),
             (["cpu"], f"{sockets} x processor at {processor} USD", sockets * processor),
             (["dram"], f"{dram // 16} x rdimm_16 of 16 GiB", dram * DRAM_PER_GIB),
             (["flash"], "1 x nvme_2t", 2 * FLASH_PER_TIB),
             (["energy"], f"{watts:.0f} W for {YEARS} years", watts * WATT_YEARS * YEARS)]
    if scm:
        lines.insert(3, (["scm", "dram"], f"{scm // 128} x scm_128 of 128 GiB", scm * SCM_PER_GIB))
        lines.append((["qualification"], "qualification: 50000 USD over 400 hosts", 125))
    return [{"items": items, "text": text, "amount": amount} for items, text, amount in lines], watts


def cost(plan, factors):
    return sum(step["amount"] * math.prod(factors.get(item, 1) for item in step["items"])
               for step in plan["cost"]["steps"])


def plan(server, dram, scm):
    sockets, cores, _, _ = SERVERS[server]
    in_dram, in_scm, throughput, p99 = figures(cores, dram, scm)
    lines, watts = steps(server, dram, scm)
    total = sum(step["amount"] for step in lines)
    return {"name": f"{server} {dram} GiB" + (f" + {scm} GiB cxl" if scm else "") + ", 1 x nvme_2t", "server": server,
            "sockets": sockets, "cores": cores,
            "dram": {"module": "rdimm_16", "count": dram // 16, "bytes": dram * GIB, "device": "dram"},
            "scm": {"module": "scm_128", "count": scm // 128, "bytes": scm * GIB, "device": "cxl"} if scm else None,
            "flash": {"module": "nvme_2t", "count": 1, "bytes": 2048 * GIB, "device": "nvme"},
            "dram_cache_bytes": (dram - 16) * GIB, "cost": {"total": total, "per_year": total / YEARS, "steps": lines},
            "throughput": bracket(throughput), "mean_us": bracket(p99 / 9), "p50_us": bracket(4.0),
            "p95_us": bracket(p99 / 3), "p99_us": bracket(p99, 0.2), "flash_reads_per_s": 1000.0,
            "flash_bytes_per_s": 4e6, "scm_read_bytes_per_s": in_scm * 1e9, "scm_written_bytes_per_s": in_scm * 1e8,
            "cpu_share": 0.93, "scm_share": 0.2, "flash_share": 0.4, "watts": watts,
            "lifetime_years": 7.5 if scm else None, "dram_hit": in_dram, "scm_hit": in_scm,
            "miss": 1 - in_dram - in_scm, "miss_band": 0.004, "bottleneck": "cores", "on_frontier": False}


def judge(plans, bounds):
    for one in plans:
        one["slack"] = [one["throughput"]["value"] / bounds[0] - 1, 1 - one["p99_us"]["value"] / bounds[1]]
        one["feasible"] = all(slack >= 0 for slack in one["slack"])
        one["sure"] = one["feasible"] and min(one["slack"]) > 0.1


def surface():
    cells = [[figures(SERVERS["two_socket"][1], dram, scm) for scm in SCMS] for dram in DRAMS]
    pick = lambda make: [[make(cell) for cell in row] for row in cells]
    return {"dram_bytes": [dram * GIB for dram in DRAMS], "scm_bytes": [scm * GIB for scm in SCMS],
            "dram_hit": pick(lambda c: c[0]), "scm_hit": pick(lambda c: c[1]),
            "miss": pick(lambda c: 1 - c[0] - c[1]), "throughput": pick(lambda c: c[2]), "p99_us": pick(lambda c: c[3])}


def no_purchase(bound):
    """The baseline's 512 GiB, parted."""
    split = lambda dram, factor: {"dram_bytes": dram * GIB, "packed_bytes": (512 - dram) * GIB, "pack_ratio": 3.25,
                                  "throughput": bracket(factor * bound), "mean_us": bracket(11.0),
                                  "p99_us": bracket(333.0), "miss": 0.0456, "feasible": factor > 1,
                                  "sure": factor > 1.1}
    return {"verdict": "recommended", "best": 1, "splits": [split(64, 0.9), split(128, 1.3), split(256, 1.05)],
            "uri": "mezzanine://dram_total=128G;scm=384G@dram;pack=zstd;policy=adaptive",
            "text": "no purchase: pack what you have: 128 GiB as DRAM " + HOSTILE}


def full():
    plans = [plan(server, dram, scm) for server in SERVERS for dram in DRAMS for scm in SCMS]
    plans.sort(key=lambda one: one["cost"]["total"])
    baseline = next(i for i, one in enumerate(plans) if one["server"] == "two_socket" and not one["scm"] and
                    one["dram"]["bytes"] == 512 * GIB)
    bounds = [0.95 * plans[baseline]["throughput"]["value"], 1000.0]
    judge(plans, bounds)
    cheapest = next(i for i, one in enumerate(plans) if one["feasible"])
    plans[cheapest]["name"] += " " + HOSTILE
    frontier, most = [], 0
    for i, one in enumerate(plans):
        if one["throughput"]["value"] > most:
            most = one["throughput"]["value"]
            one["on_frontier"] = True
            frontier.append(i)
    pairs = list(zip(frontier, frontier[1:]))
    differ = lambda a, b, of: of(plans[b]) - of(plans[a])
    item = lambda name, low, high, assumed: {"name": name, "low": low, "high": high,
                                             "assumed": assumed, "source": f"list of {name}, 2026",
                                             "date": "2026-05-01"}
    total, before = plans[cheapest]["cost"]["total"], plans[baseline]["cost"]["total"]
    return {
        "program": "mezz_plan", "schema": 1, "time": "2026-11-22T12:00:00Z", "asserts": False,
        "command_line": "mezz_plan --trace=blocks.trace --prices=2026.yaml " + HOSTILE,
        "host": {"cpu": "A processor with a long name @ 2.00GHz", "cores": 2, "memory_bytes": 25 << 30},
        "price_book": {"name": "2026", "path": "prices/2026.yaml", "as_of": "2026-11-01", "currency": "USD",
                       "years": YEARS},
        "workload": {"name": "/a/folder/blocks.trace", "policy": "adaptive", "pack": "off", "curve": "R 0.01, 4 seeds",
                     "block_bytes": 4096, "flash_bytes": 4096, "lookups_per_operation": 2.5,
                     "footprint_bytes": FOOTPRINT},
        "load": {"loop": "closed", "threads": 32, "rate": None},
        "costs": {name: bracket(value, 0.1) for name, value in
                  {"base": 3000, "scm_hit": 400, "flash_read": 9000, "flash_wait": 500}.items()} | {"source": "preset"},
        "hosts": 400, "considered": 1234, "warnings": ["the price book is older than a year: " + HOSTILE],
        "targets": [{"text": text, "metric": metric, "unit": unit, "at_least": at_least, "of_baseline": of_baseline,
                     "bound": bound}
                    for (text, metric, unit, at_least, of_baseline), bound in zip(TARGETS, bounds)],
        "cost_items": [item("dram", 0.5, 2, False), item("scm", 0.4, 3, True), item("flash", 0.8, 1.5, False),
                       item("cpu", 1, 1, False), item("chassis", 0.9, 1.1, False), item("energy", 0.5, 2, False),
                       item("qualification", 0, 5, True)],
        "plans": plans, "baseline": baseline, "cheapest": cheapest,
        "cheapest_dram": next(i for i, one in enumerate(plans) if one["feasible"] and not one["scm"]),
        "nearest": None, "blocked_by": None, "blocked_text": "", "frontier": frontier,
        "next_dollars": [{"from": a, "to": b, "cost": differ(a, b, lambda p: p["cost"]["total"]),
                          "throughput": differ(a, b, lambda p: p["throughput"]["value"]),
                          "p99_us": differ(a, b, lambda p: p["p99_us"]["value"]), "throughput_per_cost": 12.5}
                         for a, b in pairs],
        "sensitivity": [{"item": "scm", "low": None, "high": 1.9, "below": None, "above": baseline, "at_low": cheapest,
                         "at_high": baseline, "text": "stays best until SCM costs 1.9 times as much."},
                        {"item": "dram", "low": 0.6, "high": None, "below": baseline, "above": None,
                         "at_low": baseline, "at_high": cheapest, "text": "stays best from 0.6 times DRAM's price on."},
                        {"item": "energy", "low": None, "high": None, "below": None, "above": None,
                         "at_low": cheapest, "at_high": cheapest, "text": "stays best whatever energy costs."}],
        "growth": {"limit": 1.3, "most": 4, "next": baseline,
                   "text": "Stays best until the data is 1.3 times as large."},
        "flatter": {"limit": 0.2, "most": 1, "next": None, "text": "Stays best until a fifth of the look-ups is even."},
        "break_even": {"scm": 2.2, "dram": 0.55, "text": "DRAM alone costs the same once SCM costs 2.2 times as much."},
        "fleet": {"hosts": 400, "total": 400 * total, "baseline_total": 400 * before, "saving": 400 * (before - total),
                  "saving_share": 1 - total / before, "watts": 4e5, "baseline_watts": 5e5,
                  "hosts_for_baseline_throughput": 417},
        "no_purchase": no_purchase(bounds[0]),
        "alternatives": [{"policy": policy, "server": f"two_socket {dram} GiB", "cost": total * factor,
                          "throughput": bounds[0], "p99_us": 900.0, "miss": 0.3, "feasible": feasible}
                         for policy, dram, factor, feasible in
                         (("memory_mode", 128, 1.07, True), ("naive_scm", 64, 1.2, False))],
        "uri": "mezzanine://dram=112G;scm=1T@/dev/dax0.0;policy=adaptive", "surface": surface()}


def ordered():
    """The cheapest plan has a fast and a slow medium: a quarter of its bytes and the rest."""
    answer = full()
    one = answer["plans"][answer["cheapest"]]
    scm, at = one["scm"], next(i for i, step in enumerate(one["cost"]["steps"]) if step["items"][0] == "scm")
    fast_bytes, step = scm["bytes"] // 4, one["cost"]["steps"][at]
    one["slow_scm"] = {"module": "pmem_128", "count": 3, "bytes": scm["bytes"] - fast_bytes, "device": "optane100"}
    scm["bytes"] = fast_bytes
    one["cost"]["steps"][at:at + 1] = [dict(step, text=f"of the {name} medium", amount=share * step["amount"])
                                       for name, share in (("fast", 0.6), ("slow", 0.4))]
    one["media"] = [{"hit": share * one["scm_hit"], "read_bytes_per_s": 1e9, "written_bytes_per_s": 1e8, "share": 0.2,
                     "lifetime_years": lasts} for share, lasts in ((0.75, None), (0.25, 7.5))]
    return answer


def infeasible():
    """Nothing meets the targets: the nearest plan, and what blocks it."""
    answer = full()
    bounds = [4 * answer["targets"][0]["bound"], 1000.0]
    judge(answer["plans"], bounds)
    answer["targets"][0]["bound"] = bounds[0]
    answer.update(cheapest=None, cheapest_dram=None, nearest=len(answer["plans"]) - 1, blocked_by=0, fleet=None, uri="",
                  sensitivity=[], next_dollars=[], blocked_text="It reaches 0.3 of the throughput asked for.")
    for name in ("growth", "flatter", "break_even"):
        del answer[name]
    return answer


def cost_target():
    """A target about the price, which the sliders move: at most 0.85 of the baseline."""
    answer = full()
    before = answer["plans"][answer["baseline"]]["cost"]["total"]
    answer["targets"].append({"text": "cost<=0.85*baseline", "metric": "cost", "unit": "", "at_least": False,
                              "of_baseline": True, "bound": 0.85 * before})
    for one in answer["plans"]:
        one["slack"].append(1 - one["cost"]["total"] / (0.85 * before))
        one["feasible"] = all(slack >= 0 for slack in one["slack"])
    answer["cheapest"] = next(i for i, one in enumerate(answer["plans"]) if one["feasible"])
    return answer


def least():
    """As little as an answer can hold."""
    answer = copy.deepcopy(full())
    one = answer["plans"][answer["baseline"]]
    return {"program": "mezz_plan", "schema": 1, "price_book": answer["price_book"], "workload": {"name": "t"},
            "targets": [], "cost_items": [], "plans": [dict(one, slack=[])], "baseline": 0, "cheapest": 0, "uri": ""}


def without_plans():
    return dict(least(), plans=[], baseline=None, cheapest=None)
