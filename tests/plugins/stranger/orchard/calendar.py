"""When fruit is ripe."""

MONTHS = {"apple": "February to May", "mango": "October to January"}
