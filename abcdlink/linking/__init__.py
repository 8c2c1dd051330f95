"""Approaches: what decides links."""
