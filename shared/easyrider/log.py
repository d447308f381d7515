"""Structured log lines on stderr: one JSON object each, secrets in addresses blotted out."""

import logging
import re
import sys
import time
from typing import Any

# structlog's renderer for terminals pulls in rich if it is there: 4 MB that a node agent cannot spare
_kept_out = sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
import structlog  # noqa: E402

if _kept_out is None:
    del sys.modules["rich"]

_USER_INFO = re.compile(r"(?<=://)[^/@\s\"']+@")
_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_allowed_again_s: dict[tuple[int, str], tuple[float, int]] = {}


def configure(service: str, level: str = "info", form: str = "json") -> None:
    """From here on, lines go to stderr as JSON or, for people, as text. Libraries' lines take the same way."""
    render = structlog.processors.JSONRenderer() if form == "json" else structlog.processors.LogfmtRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _blot,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    root = logging.getLogger()
    root.handlers = [_Library()]
    root.setLevel(logging.WARNING)


def get(name: str) -> Any:
    """A logger whose lines carry `source: name`."""
    return structlog.get_logger(source=name)


def bounded(logger: Any, key: str, every_s: float) -> Any:
    """The logger itself at most once in `every_s` per `key`, else one that says nothing.

    The line that gets through carries `unsaid`: how many were held back before it.
    """
    now_s, entry = time.monotonic(), (id(logger), key)
    again_s, unsaid = _allowed_again_s.get(entry, (0.0, 0))
    if now_s < again_s:
        _allowed_again_s[entry] = (again_s, unsaid + 1)
        return _SILENT
    if len(_allowed_again_s) > 4096:  # keys made of foreign text must not fill the memory
        _allowed_again_s.clear()
    _allowed_again_s[entry] = (now_s + every_s, 0)
    return logger.bind(unsaid=unsaid) if unsaid else logger


class _Silent:
    """Takes any log call and drops it."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_args, **_fields: None


_SILENT = _Silent()


class _Library(logging.Handler):
    """Lines of libraries, in our form."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else "warning"
        logger = get(record.name)
        getattr(logger, level)(record.getMessage(), exc_info=record.exc_info or None)


def blot(text: str) -> str:
    """The text without user and password in addresses."""
    return _USER_INFO.sub("***@", text)


def _blot(_logger: Any, _method: str, event: Any) -> Any:
    for key, value in event.items():
        if isinstance(value, str) and "://" in value:
            event[key] = blot(value)
    return event
