"""The agent as a service: it samples, walks every 30 s, keeps state, and answers on this node.

`service` puts the parts together: `sampler` keeps the newest observation of every source, `walker`
judges them, `endpoint` answers on the local socket what `view` lets a peer see, `exporter` serves
`metrics`, `state` survives a restart, `notify` talks to systemd, `releasing` and `driver_change`
let go of the driver, `supervise` keeps all of it going.
"""
