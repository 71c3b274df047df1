"""Before anybody has reported: how many people it takes, and what to offer them."""
