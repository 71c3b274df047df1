"""What runs at a person's side: one report, its price, and in `js` the same for browsers."""
