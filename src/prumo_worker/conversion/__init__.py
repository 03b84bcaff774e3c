"""Networks from one format into another, inside the framework that wrote them."""
