"""Statistics on tables. Pure."""
