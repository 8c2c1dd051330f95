"""What run pages show: artifacts, and those of a suspended run that are kept up to date from outside."""
