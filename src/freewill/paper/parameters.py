"""The parameters of the paper's appendix (tables IV to VIII) and its alphabets, as printed."""

from freewill.domain.alphabets.grid import Grid
from freewill.domain.alphabets.linear import Linear

LINE = Linear(0, 99)
SHORT_LINE = Linear(0, 19)
CITY = Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16, cell=0.5)
"""San Francisco; the paper rounds its cells to 0.5 km."""

RAPPOR_HIGH_PRIVACY = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
RAPPOR_LOW_PRIVACY = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
"""Table IV: epsilons of ten RAPPOR mechanisms."""

KRR_LINE = (3.00, 3.54, 3.96, 4.34, 4.69, 5.06, 5.46, 5.93, 6.60, 8.08)
KRR_CITY = (3.05, 4.19, 4.81, 5.27, 5.67, 6.05, 6.44, 6.87, 7.40, 8.20)
"""Table V: epsilons of ten k-RR mechanisms."""

GEOMETRIC_LINE = (0.020, 0.025, 0.031, 0.039, 0.050, 0.065, 0.088, 0.131, 0.236, 0.869)
GEOMETRIC_CITY = (0.190, 0.244, 0.310, 0.390, 0.493, 0.632, 0.835, 1.159, 1.762, 3.124)
"""Table VI: epsilons of ten geometric mechanisms, for a unit on the line and for a kilometre."""

MIXED_LINE_GEOMETRIC, MIXED_LINE_KRR = GEOMETRIC_LINE[5:], KRR_LINE[:5]
MIXED_CITY_GEOMETRIC, MIXED_CITY_KRR = GEOMETRIC_CITY[5:], KRR_CITY[:5]
"""Table VII: five geometric mechanisms and five k-RR."""

SHOKRI_LINE = (1.0, 4.0, 7.0, 10.0, 13.0, 16.0, 19.0, 22.0, 24.5, 28.0)
SHOKRI_CITY = (0.3, 0.6, 0.9, 1.2, 1.5, 1.8, 2.1, 2.4, 2.7, 3.0)
"""Table VIII: the quality losses Q of ten mechanisms of Shokri et al."""
