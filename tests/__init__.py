"""Mirror of the packages; `nodes/` holds recordings, `plugin/` what every test stands on."""
