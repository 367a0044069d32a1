"""A page to try the metric on: one label a line, of both policies, and the true label."""

import json
from pathlib import Path

import evaluate
import gradio as gr

PREDICTIONS = "cough\nsigh\nsneeze\nsniff"
BASELINES = "cough\ncough\nsneeze\nsneeze"
REFERENCES = "cough\nsigh\nsneeze\nsigh"


def score(predictions: str, baselines: str, references: str) -> str:
    """Results for texts with one label a line."""
    metric = evaluate.load(str(Path(__file__).with_name("call_value.py")))
    result = metric.compute(
        predictions=predictions.splitlines(),
        baselines=baselines.splitlines(),
        references=references.splitlines(),
    )
    return json.dumps(result, indent=2)


with gr.Blocks(title="Call value") as demo:
    gr.Markdown("# Call value\nOne label a line: with calls, without calls, and the true one.")
    with gr.Row():
        predictions = gr.Textbox(PREDICTIONS, label="With calls", lines=8)
        baselines = gr.Textbox(BASELINES, label="Without calls", lines=8)
        references = gr.Textbox(REFERENCES, label="True labels", lines=8)
    result = gr.Code(label="Result", language="json")
    gr.Button("Score").click(score, [predictions, baselines, references], result)

if __name__ == "__main__":
    demo.launch()
