"""``python -m hunet`` is the ``hunet`` command."""

from hunet.cli import main

if __name__ == "__main__":
    main()
