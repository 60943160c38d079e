"""The live protocol: documents, events and approvals of one workspace over a persistent connection."""
