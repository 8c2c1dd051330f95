"""Prefect flows: what runs when."""
