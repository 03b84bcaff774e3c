"""What answers cost at a traffic: serverless endpoints, instances and machines side by side."""
