"""What runs at a person's side: one report a question, from the system's generator, and its price.

Beside it, in `js`, stands the same for browsers.
"""

from freewill.device.budget import Budget
from freewill.device.device import Device
from freewill.device.memory import Memory
from freewill.device.sent import Sent

__all__ = ["Budget", "Device", "Memory", "Sent"]
