import torch

layer = torch.nn.Linear(4, 4)
layer(torch.ones(2, 4)).sum().backward()
