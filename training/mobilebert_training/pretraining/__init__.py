"""Pretraining under a teacher: token shards, masking, strategies, loss, stages."""
