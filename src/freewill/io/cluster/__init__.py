"""The cluster: how Spark is started, and what its workers do with the reports that stay there."""
