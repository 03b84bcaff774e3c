"""What a report shows of requests to an endpoint."""
