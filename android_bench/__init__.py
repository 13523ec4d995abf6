"""Latency measurement here and on a phone, statistics, the regression gate."""
