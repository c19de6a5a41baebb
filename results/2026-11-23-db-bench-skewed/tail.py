#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Appends a get of each key to a query trace of db_bench: mezz_replay loads the keys that a trace names, and readrandom
with a skew does not name all.

    tail.py TRACE KEYS

Keys are db_bench's: the number in eight bytes, big-endian, and eight times '0'."""
import pathlib
import struct
import sys

HEADER = struct.Struct("<QBI")  # time in microseconds, type of the record, bytes that follow
PAYLOAD_OF_A_GET = bytes([0x0C]) + bytes(7)  # which fields follow: column family and key


def main():
    path, keys = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    data = path.read_bytes()
    at, first_get, last_time, last_type, last_at = 0, None, 0, 0, 0
    while at < len(data):
        time, kind, size = HEADER.unpack_from(data, at)
        last_at, last_time, last_type = at, time, kind
        if kind == 4 and first_get is None:
            first_get = (kind, data[at + HEADER.size : at + HEADER.size + size])
        at += HEADER.size + size
    if first_get is None or not first_get[1].startswith(PAYLOAD_OF_A_GET) or not first_get[1].endswith(b"0" * 8):
        raise SystemExit(f"{path}: not a trace of db_bench's gets")
    kind, payload = first_get
    before = payload[:-16]
    end = data[last_at:] if last_type == 2 else b""  # kTraceEnd
    with path.open("r+b") as file:
        file.seek(last_at if end else len(data))
        for key in range(keys):
            get = before + struct.pack(">Q", key) + b"0" * 8
            file.write(HEADER.pack(last_time, kind, len(get)) + get)
        file.write(end)


if __name__ == "__main__":
    main()
