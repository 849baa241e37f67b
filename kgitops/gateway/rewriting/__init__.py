"""Changes requests on their way to a broker, and responses on their way to a client."""
