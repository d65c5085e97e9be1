"""The HTTP API, `/v1`: `routes` lists it, `documents` are its JSON, `problem` its refusals."""
