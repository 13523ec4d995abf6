"""matcher-open-m from text to trunk to decision, without a label of QQP, MRPC, STS-B or Twitter-URL."""
