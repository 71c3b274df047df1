"""What runs at a person's side: what a choice promises, in words.

Beside it, in `js`, stands the same for browsers.
"""

from freewill.device.explain import Explanation, SurveyExplanation, explain

__all__ = ["Explanation", "SurveyExplanation", "explain"]
