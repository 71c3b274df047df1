"""Tools of the developers: nothing here is installed with the library."""
