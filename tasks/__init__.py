"""Prefect tasks: the units of retry, caching and progress."""

from tasks.running import say_errors_in_one_line

say_errors_in_one_line()
