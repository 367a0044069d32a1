"""A page to try the metric on: one answer a line, and its true direction."""

import json
from pathlib import Path

import evaluate
import gradio as gr

ANSWERS = "Increase\nIt decreases.\nI cannot tell."
REFERENCES = "increase\nincrease\ndecrease"


def score(answers: str, references: str) -> str:
    """Results for texts with one entry a line."""
    metric = evaluate.load(str(Path(__file__).with_name("direction_accuracy.py")))
    result = metric.compute(predictions=answers.splitlines(), references=references.split())
    return json.dumps(result, indent=2)


with gr.Blocks(title="Direction accuracy") as demo:
    gr.Markdown("# Direction accuracy\nOne answer a line; beside it *increase* or *decrease*.")
    with gr.Row():
        answers = gr.Textbox(ANSWERS, label="Answers", lines=8)
        references = gr.Textbox(REFERENCES, label="True directions", lines=8)
    result = gr.Code(label="Result", language="json")
    gr.Button("Score").click(score, [answers, references], result)

if __name__ == "__main__":
    demo.launch()
