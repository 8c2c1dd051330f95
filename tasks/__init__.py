"""Prefect tasks: the units of retry, caching and progress."""
