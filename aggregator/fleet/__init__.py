"""What many nodes mean together, pure: states with age, identities, leases, enrolments.

"now" is an argument, the store calls the decisions inside its transaction.
"""
