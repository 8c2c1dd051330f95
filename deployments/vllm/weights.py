"""Write the embedded model's weights as a folder that vLLM can serve on a CPU, where it does not read GGUF files.

Runs in ``.venv-vllm`` (``make setup-vllm``): ``python deployments/vllm/weights.py FILE.gguf FOLDER``.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def dequantise(weights: Path, folder: Path) -> None:
    """Write configuration, tokenizer, chat template and bfloat16 weights of a GGUF file, which contains them all."""
    import torch
    import transformers

    given = {"pretrained_model_name_or_path": weights.parent, "gguf_file": weights.name}
    model = transformers.AutoModelForCausalLM.from_pretrained(
        **given, quantization_config=transformers.GgufConfig(dequantize=True), dtype=torch.bfloat16
    )
    model.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(**given).save_pretrained(folder)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="the GGUF file")
    parser.add_argument("folder", type=Path, help="where the model is written")
    given = parser.parse_args()
    dequantise(given.weights, given.folder)


if __name__ == "__main__":
    main()
