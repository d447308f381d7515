"""Rows into a Parquet file; the only file that imports its library."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from easyrider.errors import EasyRiderError


class ParquetMissing(EasyRiderError):
    """The library that writes Parquet is not installed."""

    def __init__(self) -> None:
        super().__init__("Parquet needs pyarrow: pip install 'easyrider[parquet]', or take --csv")


class Sheet:
    """An open file; made by `sheet`."""

    def __init__(self, writer: Any, schema: Any, arrow: Any) -> None:
        self._writer, self._schema, self._arrow = writer, schema, arrow

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Append rows as one group; what is None is null."""
        self._writer.write_table(self._arrow.Table.from_pylist(rows, schema=self._schema))


@contextmanager
def sheet(path: Path, columns: tuple[str, ...], text: frozenset[str]) -> Iterator[Sheet]:
    """A file with these columns: names in `text` hold text, others numbers. Raises `ParquetMissing`, `OSError`."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as fault:
        raise ParquetMissing from fault
    kinds = {True: arrow.dictionary(arrow.int32(), arrow.string()), False: arrow.float64()}
    schema = arrow.schema([(name, kinds[name in text]) for name in columns])
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        yield Sheet(writer, schema, arrow)
