"""The paper's figures and tables as data, one runner, one plotter, and the report.

>>> from freewill.paper import plan
>>> [panel.figure for panel in plan(["7"]).panels]
['7a', '7b']
"""

from freewill.paper.gowalla import download
from freewill.paper.panels import FIGURES, FULL, PANELS, QUICK, STUDIES, Panel, Plan, plan
from freewill.paper.places import Crowd, load, synthetic_city
from freewill.paper.report import Outcome
from freewill.paper.reproduce import reproduce
from freewill.paper.results import Results, Row
from freewill.paper.verdicts import Judgement, judge, verdict

__all__ = [
    "FIGURES",
    "FULL",
    "PANELS",
    "QUICK",
    "STUDIES",
    "Crowd",
    "Judgement",
    "Outcome",
    "Panel",
    "Plan",
    "Results",
    "Row",
    "download",
    "judge",
    "load",
    "plan",
    "reproduce",
    "synthetic_city",
    "verdict",
]
