"""`easyrider export`: recorded samples as CSV or Parquet."""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from rich.console import Console

from easyrider.errors import EasyRiderError
from easyrider_cli.export_rows import COLUMNS, TEXT, Row, Rows
from easyrider_cli.parquet import sheet
from easyrider_cli.recorded_stretch import stretch
from easyrider_recorder.adapters.reader import Recording

BATCH = 50_000


class NothingToWrite(EasyRiderError):
    """Neither a CSV nor a Parquet file was named, or both."""

    def __init__(self) -> None:
        super().__init__("name one file to write: --csv FILE or --parquet FILE")


def export(
    *,
    folder: Path,
    region: str | None,
    begins: str | None,
    ends: str | None,
    csv_file: Path | None,
    parquet_file: Path | None,
    console: Console,
) -> int:
    """Write every sample of the stretch; how many rows. Raises `NothingToWrite`, `NoRecording`, `OSError`.

    Raises `NothingRecorded`, `BadMomentOption` too, before a file is written.
    """
    if (csv_file is None) == (parquet_file is None):
        raise NothingToWrite
    recording = Recording.open(folder, region)
    from_ns, to_ns = stretch(recording, begins, ends)
    rows, count = Rows(), 0
    told = rows.of(record for _boot, record in recording.records(from_ns, to_ns))
    with _csv(csv_file) if csv_file is not None else _parquet(parquet_file) as write:
        while batch := list(islice(told, BATCH)):
            write(batch)
            count += len(batch)
    console.print(f"{count} rows in {csv_file or parquet_file}", markup=False, soft_wrap=True)
    for what, lost in (
        (f"{rows.unnamed} samples are of boards that nothing had named yet", rows.unnamed),
        (f"{rows.malformed} messages could not be read", rows.malformed),
        (f"{recording.dropped} messages were dropped when this was recorded", recording.dropped),
        *((f"not read: {damage}", 1) for damage in recording.damage),
    ):
        if lost:
            console.print(what, style="yellow", markup=False, soft_wrap=True)
    return count


@contextmanager
def _csv(path: Path) -> Iterator[Callable[[list[Row]], None]]:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()  # what is None is written empty
        yield writer.writerows


@contextmanager
def _parquet(path: Path | None) -> Iterator[Callable[[list[Row]], None]]:
    assert path is not None
    with sheet(path, COLUMNS, TEXT) as opened:
        yield opened.add
