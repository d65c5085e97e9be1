"""What the driver's numbers mean: Xids, SXids, the sub-events of NVLink, and the recovery of each.

`tables` holds the codes, generated from `sources/`; `lines` reads one line of the kernel log with
them; `recovery` says what brings the GPU back.
"""
