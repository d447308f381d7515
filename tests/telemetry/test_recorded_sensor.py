"""A power sensor that really died, as recorded: 46.19 W for 700 s while the chip warmed from 32 to 63 degC."""

import csv
import gzip
from pathlib import Path

from fake_board import fast, slow

import easyrider_twin
from easyrider import quality
from easyrider_telemetry.core.board import BoardDesk

RECORDING = "stuck_power_sensor_during_resnet50_inference.csv.gz"
S = 1_000_000_000


def test_a_recorded_dead_sensor_is_called_stuck_soon_after_the_chip_warms():
    path = Path(easyrider_twin.__file__).parent / "data" / "traces" / RECORDING
    with gzip.open(path, "rt") as file:
        rows = [
            (float(row["t_s"]), float(row["power_w"]), int(row["temp_c"])) for row in csv.DictReader(file)
        ]
    board = BoardDesk(1.0, None)
    verdicts = []

    for t_s, power_w, temperature_c in rows:
        at = 1000 * S + round(t_s * 1e9)
        board.slow(slow(at, temperature_c=temperature_c))
        cells = board.look(fast(at, power_w, energy_ok=quality.MISSING), at)
        verdicts.append((cells[1], temperature_c))

    warmed = next(k for k, (_, temperature_c) in enumerate(verdicts) if temperature_c >= rows[0][2] + 5)
    called = next(k for k, (ok, _) in enumerate(verdicts) if ok == quality.STUCK)
    assert warmed <= called <= warmed + 15
    assert all(ok == quality.STUCK for ok, _ in verdicts[called:])
