class TrainerState:
    def __init__(self, log_history):
        self.log_history = log_history
