"""Scripts of the project itself: environment, real tools for tests, generated pages."""
