"""The paper's figures and tables as data, one runner, one plotter, and the report.

>>> from freewill.experiments import plan
>>> [panel.figure for panel in plan(["7"]).panels]
['7a', '7b']
"""

from freewill.experiments.gowalla import download
from freewill.experiments.panels import FIGURES, FULL, PANELS, QUICK, STUDIES, Panel, Plan, plan
from freewill.experiments.places import Crowd, load, synthetic_city
from freewill.experiments.report import Outcome
from freewill.experiments.reproduce import reproduce
from freewill.experiments.results import Results, Row
from freewill.experiments.verdicts import Judgement, judge, verdict

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
