"""What every test finds as if it were the only one."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog


@pytest.fixture(autouse=True)
def own_log_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test that runs a command in this process leaves the next one neither its log level nor its handlers.

    Loggers that remember how they were configured first could not be reset, so here they do not.
    """
    configure, handlers = structlog.configure, list(logging.getLogger().handlers)

    def forgettable(**settings: Any) -> None:
        configure(**settings | {"cache_logger_on_first_use": False})

    monkeypatch.setattr(structlog, "configure", forgettable)
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    logging.getLogger().handlers = handlers
