"""`python -m dalenius`: the command `dalenius`, where it is not on the path."""

from dalenius.cli.main import main

if __name__ == "__main__":
    main()
