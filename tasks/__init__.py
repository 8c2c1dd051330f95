"""Prefect tasks: the units of retry, caching and progress."""

from tasks.quiet import say_errors_in_one_line

say_errors_in_one_line()
