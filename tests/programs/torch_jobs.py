# SPDX-License-Identifier: Apache-2.0
"""What integration/pytorch_jobs.py records; it knows nothing of Brick. torch_jobs.py lightning: Lightning trains a small
model. torch_jobs.py notebook: a kernel of Jupyter is started and runs the cells of a notebook, as an editor has them run.
Prints the losses."""
import sys

MODEL = """
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
rows = torch.utils.data.TensorDataset(torch.randn(24, 16), torch.randn(24, 1))
loader = torch.utils.data.DataLoader(rows, 4)
"""
CELLS = [MODEL, """
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), 0.01)
""", """
for x, y in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
"""]


def notebook():
    from jupyter_client import KernelManager
    from jupyter_client.kernelspec import KernelSpec
    manager = KernelManager(transport="ipc")
    manager._kernel_spec = KernelSpec(argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], language="python")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=800)
    for cell in CELLS:
        reply = client.execute_interactive(cell, timeout=800, output_hook=lambda message: print(
            message["content"].get("text", ""), end="") if message["msg_type"] == "stream" else None)
        assert reply["content"]["status"] == "ok", reply["content"]
    client.shutdown()
    client.stop_channels()
    manager.provisioner.process.wait()  # the kernel ends itself


def lightning():
    import logging
    import lightning
    logging.disable(logging.WARNING)
    there = {}
    exec(MODEL, there)
    torch = there["torch"]

    class Job(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))

        def training_step(self, batch):
            loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
            print(loss.item())
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 0.01)

    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False)
    trainer.fit(Job(), there["loader"])


{"notebook": notebook, "lightning": lightning}[sys.argv[1]]()
