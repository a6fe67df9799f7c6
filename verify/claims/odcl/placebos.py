"""What each statistical claim of the paper is compared with: a run that does nothing, or why none.

`verify.procedures.placebos` says what an entry means.
"""

from verify.procedures.placebos import Entry

PLACEBOS: dict[str, Entry] = {}
