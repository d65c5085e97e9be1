"""The outbox: reports, masks, spool and sender."""
