"""The REST admin API."""


def main() -> int:
    """Exit code of the service."""
    return 2
