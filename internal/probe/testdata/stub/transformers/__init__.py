"""A stand-in for the Trainer: only its stages and its log."""

__version__ = "5.17.0+stub"

from .trainer_callback import CallbackHandler, TrainerState  # noqa: E402
from .trainer_utils import TrainerMemoryTracker  # noqa: E402


class Trainer:
    def __init__(self, skip, set_up):
        self.tracker = TrainerMemoryTracker(skip)
        self.tracker.start()
        set_up()
        self.tracker.stop_and_update_metrics()

    def train(self, steps):
        self.tracker.start()
        self.state = TrainerState([])
        assert CallbackHandler().on_train_begin() == "begun"
        steps()
        return self._finalize_training()

    def _finalize_training(self):
        metrics = {"train_loss": 0.5, "train_runtime": 1.25}
        self.tracker.stop_and_update_metrics(metrics)
        self.state.log_history.append({**metrics, "step": 1})
        assert CallbackHandler().on_train_end() == "ended"
        return metrics
