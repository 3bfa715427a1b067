"""toprun: `toprun train.py` instead of `torchrun train.py`.

The program is one static binary, installed beside Python as `toprun`; this package only lets
`python -m toprun` find it.
"""
