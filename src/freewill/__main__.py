"""`python -m freewill`, the same as the command `freewill`."""

from freewill.cli import main

if __name__ == "__main__":
    main()
