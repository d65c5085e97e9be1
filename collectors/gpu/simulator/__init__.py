"""GPUs that are not there: NVML answered from a scenario, through the unmodified binding.

`scenario` reads what people wrote and `plan` turns it into plain data; `library` answers from
that data in the helper process, where the driver's library would.
"""
