"""Endpoints in the cloud that come, change and go by one command each, and leave nothing behind."""
