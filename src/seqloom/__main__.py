"""`python -m seqloom`: the same as the command `seqloom`."""

from seqloom.cli import main

if __name__ == "__main__":
    main()
