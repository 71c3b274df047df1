"""What runs at a person's side: what a choice promises, in words; one report, and its price.

Beside it, in `js`, stands the same for browsers.
"""

from freewill.device.budget import Budget
from freewill.device.device import Device
from freewill.device.explain import Explanation, SurveyExplanation, explain
from freewill.device.memory import Memory
from freewill.device.sent import Sent

__all__ = ["Budget", "Device", "Explanation", "Memory", "Sent", "SurveyExplanation", "explain"]
