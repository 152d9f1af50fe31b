"""`python -m voirdire` is `voirdire`."""

from voirdire.cli import run

if __name__ == "__main__":
    run()
