"""The simulated driver's library, asked through the unmodified binding."""
