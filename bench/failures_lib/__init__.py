"""The parts of failures.py: launchers on virtual hosts, and one function per case."""
