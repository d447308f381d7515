"""The recorder: keeps what is said on the bus."""
