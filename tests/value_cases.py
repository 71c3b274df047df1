"""Alphabets of every kind, with values that are hard to write."""

import freewill as fw

CITY = fw.Grid.box(37.7228, 37.7946, -122.5153, -122.3789, columns=24, rows=16)
ALPHABETS = (
    fw.Linear(1, 100),
    fw.Linear(-1900, 2000, step=10),
    fw.Linear(2**53 - 3, 2**53),
    fw.Categorical(["yes", "no", "won't say", "1", "0", "a,b c"]),
    fw.Grid(24, 16, cell=0.5),
    fw.Grid(7, 3, cell=(1e-9, 1e12)),
    fw.Grid(1, 5, cell=(3.0, 1e-3)),
    fw.Grid.box(37.7, 37.8, 10.0, 11.0, columns=1, rows=1),
    CITY,
)
