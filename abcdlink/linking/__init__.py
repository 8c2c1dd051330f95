"""Approaches: everything that decides links."""
