# SPDX-License-Identifier: Apache-2.0
"""Results as mezz_replay writes them, with everything that a report can show."""
import math

HOSTILE = '</script><script>document.title="taken over"</script><!-- <img src=x onerror=alert(1)> & "quotes"'
CACHES = {  # name: operations a second, DRAM hits, hits of the second tier, P50 in us
    "hcc": (30200, 0.375, 0.0, 19.0),
    "hcc+compressed": (43800, 0.267, 0.505, 9.55),
    "lru+compressed": (41000, 0.28, 0.47, 9.9),
    "hybrid:bidirectional": (46000, 0.182, 0.597, 8.23),
    "scm_secondary+hcc": (39000, 0.25, 0.41, 11.2),
    "all_dram": (47300, 0.751, 0.0, 8.25),
}
TIERED = ("compressed", "hybrid", "scm")


def quantiles(p50):
    return {"p50": p50, "p95": p50 * 12, "p99": p50 * 40, "p99_9": p50 * 110, "max": p50 * 900}


def cdf(p50, seed):
    """Hits around the median, misses at the flash's latency."""
    points = []
    for i in range(200):
        us = 1.5 * 10 ** (i / 200 * 3.8)
        hits = 1 / (1 + (p50 * 0.8 / us) ** (5 + seed % 3))
        misses = 1 / (1 + (130 / us) ** 6)
        points.append([us, 0.7 * hits + 0.3 * misses])
    return points + [[p50 * 900, 1.0]]


def series(ops, dram, scm, seed, seconds=60):
    def point(t):
        warm = 1 - math.exp(-(t + 1) / 8)
        wave = 1 + 0.05 * math.sin(t * 0.9 + seed)
        now = int(ops * warm * wave)
        miss = 1 - (dram + scm) * warm
        return {"t_s": t + 1.0, "seconds": 1.0, "ops": now, "dram_hit": dram * warm, "scm_hit": scm * warm,
                "flash_reads": int(now * miss), "flash_bytes": int(now * miss * 4096),
                "scm_bytes_read": int(now * scm * warm * 4096),
                "scm_bytes_written": int(now * scm * (1.2 - warm) * 900),
                "p99_us": 400 / warm * wave}
    short = dict(point(seconds), t_s=seconds + 0.25, seconds=0.25)
    return [point(t) for t in range(seconds)] + [short]


def mean_ops(row):
    return sum(p["ops"] * p["seconds"] for p in row["series"]) / sum(p["seconds"] for p in row["series"])


def row(name, seed):
    ops, dram, scm, p50 = CACHES[name]
    factor = [0.96, 0.99, 1.0, 1.02, 1.05]
    base = CACHES["hcc"][0]

    def window(f):
        return {"ops": 20000, "seconds": 20000 / (ops * f), "ops_per_s": ops * f, "ratio": ops * f / base,
                "p50_us": p50, "p95_us": p50 * 12, "p99_us": p50 * 40, "dram_hit": dram, "scm_hit": scm,
                "flash_reads_per_op": 1 - dram - scm, "scm_bytes_written_per_op": scm * 900, "cpu_s_per_mop": 25.0}
    return {"cache": name, "available": True, "ops": 100000, "p50_us": p50, "p95_us": p50 * 12, "p99_us": p50 * 40,
            "ops_per_s": {"median": ops, "min": ops * factor[0], "max": ops * factor[-1]},
            "ratio": {"median": ops / base, "min": ops * 0.97 / base, "max": ops * 1.03 / base},
            "dram_hit": dram, "scm_hit": scm, "flash_reads_per_op": 1 - dram - scm,
            "scm_bytes_written_per_op": scm * 900, "cpu_s_per_mop": 25.0, "peak_rss_bytes": 123456789,
            "flash_bytes_per_s": 3.5e7, "scm_bytes_read_per_op": scm * 4096, "refusals": {"cold_key": 7},
            "background": {"flushes": 3, "compactions": 1, "flushed_bytes": 100, "compacted_read_bytes": 300,
                           "compacted_bytes": 200, "compaction_ms": 50},
            "medium": "file (tmpfs)" if scm else "DRAM", "emulated": scm > 0, "second_tier_idle": False,
            "windows": [window(f) for f in factor], "cold_windows": [window(0.5)], "cold_ops_per_s": [ops * 0.5],
            "latency_us": quantiles(p50), "latency_cdf": cdf(p50, seed), "series": series(ops, dram, scm, seed),
            "roles": {"data": {"dram_hit": dram, "scm_hit": scm, "miss": 1 - dram - scm},
                      "filter": {"lookups": 1000, "hit": 0.95, "miss": 0.05}},
            "counters": "scm_put 123\nscm_hit 456\n" if name.startswith(TIERED) else ""}


def manifest():
    command = "mezz_replay --trace=gen:production --keys=400000 --caches=" + ",".join(CACHES) + " " + HOSTILE
    return {"program": "mezz_replay", "schema": 1, "time": "2026-11-21T12:00:00Z", "asserts": False,
            "compiler": "12.2.0", "command_line": command,
            "host": {"cpu": "A processor with a long name @ 2.00GHz", "cores": 2, "memory_bytes": 25 << 30,
                     "kernel": "Linux 6.1.0", "machine": "x86_64"},
            "rocksdb": "11.8.1", "seed": 1, "model": "optane100",
            "options": {"threads": 2, "dram_bytes": 32 << 20, "scm_bytes": 128 << 20, "repeats": 5, "unit_bytes": 4096,
                        "trace": "gen:production", "caches": list(CACHES), "verify": False,
                        "hybrid_uri": "mezzanine://dram=32M;dram_cache=hcc;serve=auto;scm=128M@/dev/shm/mezz"}}


def full():
    """All there can be, some of it hostile, with every reason for a note."""
    rows = [row(name, seed) for seed, name in enumerate(CACHES)]
    rows[1]["second_tier_idle"] = True
    rows[2]["noisy"] = True
    rows.append({"cache": "naive_scm", "available": False, "reason": HOSTILE, "windows": []})
    return {**manifest(), "workload": "gen:production, 400000 keys in 30 ranges, skew 0.6533 within a range",
            "rows": rows, "medium": "file /dev/shm/mezz (tmpfs)", "emulated": True, "complete": False, "noisy": True,
            "distinct_keys": 400000, "database_bytes": 388 << 20, "mean_block_bytes": 4071, "database_reused": False}


def old():
    """As of a version that measured neither distributions nor series."""
    result = full()
    result.update(complete=True, noisy=False)
    result["rows"] = result["rows"][:2]
    for one in result["rows"]:
        for name in ("latency_us", "latency_cdf", "series", "roles", "noisy", "peak_rss_bytes"):
            one.pop(name, None)
    return result


def interrupted_at_once():
    result = full()
    nothing = {"median": 0, "min": 0, "max": 0}
    result["rows"] = [{"cache": "hcc", "available": True, "windows": [], "ops_per_s": nothing, "ratio": nothing}]
    return result


def block():
    """Of --mode=block."""
    def counts(one, accesses):
        dram, scm = one["dram_hit"], one["scm_hit"]
        one.update({"accesses": accesses, "miss": 1 - dram - scm, "misses": int(accesses * (1 - dram - scm)),
                    "dram_hits": int(accesses * dram), "scm_hits": int(accesses * scm),
                    "scm_writes": accesses // 20, "scm_writes_per_access": 0.05,
                    "scm_bytes_written_per_access": scm * 455, "promotions_per_access": 0.01})

    rows = [row(name, seed) for seed, name in enumerate(CACHES)]
    for one in rows:
        counts(one, 100000)
        for window in one["windows"]:
            counts(window, 20000)
    return {**manifest(), "mode": "block", "complete": True, "workload": "/a/folder/P12.lis.zst", "accesses": 100000,
            "unique": 90000, "footprint_bytes": 90000 * 4096, "rows": rows}


def old_block():
    """As of a version that ran the caches one after another, each in one stretch."""
    result = block()
    for one in result["rows"]:
        for name in ("ops_per_s", "ratio", "windows", "cold_windows", "cold_ops_per_s", "series", "roles"):
            del one[name]
    return result
