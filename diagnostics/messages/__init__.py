"""Sentences in other languages: catalogues by gettext, and what fills them."""
