"""The servers of this machine: started, stopped, looked at and checked."""

from abcdlink.services.checks import doctor
from abcdlink.services.programs import environment
from abcdlink.services.start import down, up
from abcdlink.services.state import status

__all__ = ["doctor", "down", "environment", "status", "up"]
