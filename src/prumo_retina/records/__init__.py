"""Prepared photographs split into subsets and written as TFRecord shards."""
