"""Join findings into incidents: a cause, what follows from it, one sentence.

This is the first, simple join: declared edges between faults on the same subject, one level of
roots. Times, ranks and rejected alternatives come with the whole engine.
"""
