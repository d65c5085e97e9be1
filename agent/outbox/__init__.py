"""From a diagnosis to the aggregator: reports, what they may tell, the spool, the sender."""
