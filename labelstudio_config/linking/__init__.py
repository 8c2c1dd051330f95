"""The page of a batch: for each candidate of a source sentence, Link or No Link."""

from labelstudio_config.linking.project import batch_project, batch_title, push_batch
from labelstudio_config.linking.pull import pull_batch
from labelstudio_config.linking.tasks import batch_tasks, keys_of

__all__ = ["batch_project", "batch_tasks", "batch_title", "keys_of", "pull_batch", "push_batch"]
