"""The HTTP API: `routes` lists it, `documents` and `orders` are its JSON, `problem` refuses."""
