"""Memory does not grow with the file, but for the 16 bytes of each id."""

import json
import subprocess
import sys

import polars as pl
import pytest

# Not `ru_maxrss`: a new program inherits that of the process that started it.
PEAK = """
import re, sys
from pathlib import Path
from voirdire.io import stream_items
n_items = sum(len(batch.items) for batch in stream_items(sys.argv[1]))
status = Path("/proc/self/status").read_text()
print(n_items, 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]))
"""
SIZES = (100_000, 1_000_000)
TEXT = "An answer of some length that repeats itself. " * 6


def peak_bytes(path, n_items):
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
    )
    found, peak = map(int, done.stdout.split())
    assert found == n_items
    return peak


def write_jsonl(path, n_rows):
    with path.open("w", encoding="utf-8") as file:
        for n in range(n_rows):
            file.write(f'{{"id": {n}, "prompt": "p{n}", "response": {json.dumps(TEXT)}}}\n')


def write_csv(path, n_rows):
    with path.open("w", encoding="utf-8") as file:
        file.write("id,prompt,response\n")
        file.writelines(f'{n},p{n},"{TEXT}"\n' for n in range(n_rows))


def write_parquet(path, n_rows):
    number = pl.int_range(n_rows, eager=True).cast(pl.String)
    frame = pl.DataFrame({"id": number, "prompt": number, "response": number + TEXT})
    frame.write_parquet(path, row_group_size=65_536)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("write", "suffix", "allowance"),
    [
        # 14.4 MB of ids, 12 MB for the last merge of them, some for the allocator
        (write_jsonl, ".jsonl", 40_000_000),
        (write_csv, ".csv", 40_000_000),
        # and polars keeps some of what it unpacked, of 320 MB
        (write_parquet, ".parquet", 100_000_000),
    ],
)
def test_ten_times_the_rows_take_no_more_memory(tmp_path, write, suffix, allowance):
    peaks = []
    for n_rows in SIZES:
        path = tmp_path / f"{n_rows}{suffix}"
        write(path, n_rows)
        peaks.append(peak_bytes(path, n_rows))

    assert peaks[1] - peaks[0] < allowance
