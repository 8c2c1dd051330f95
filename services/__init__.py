"""The servers of this machine: started, stopped, looked at and checked."""

from services.checks import doctor
from services.programs import environment
from services.start import down, up
from services.state import status

__all__ = ["doctor", "down", "environment", "status", "up"]
