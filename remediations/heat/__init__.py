"""Heat: when a GPU's power is lowered, by how much, why it is hot, and when all is put back; pure.

`throttle` decides step by step, `causes` names the cause by the BMC's word, `lease` is the
arithmetic of a cap, which the actor uses to check what it is asked for.
"""
