"""A page to try the metric on: one answer a line, and its true label."""

import json
from pathlib import Path

import evaluate
import gradio as gr

ANSWERS = "increase\nconstant\nIt decreases."
REFERENCES = "increase\ndecrease\ndecrease"
PARSER_LABELS = {"ternary": ["decrease", "increase", "constant"], "yes_no": ["no", "yes"]}


def score(answers: str, references: str, parser: str) -> str:
    """Results for texts with one entry a line."""
    metric = evaluate.load(str(Path(__file__).with_name("macro_f1.py")))
    result = metric.compute(
        predictions=answers.splitlines(),
        references=references.split(),
        parser=parser,
        labels=PARSER_LABELS[parser],
    )
    return json.dumps(result, indent=2)


with gr.Blocks(title="Macro F1") as demo:
    gr.Markdown("# Macro F1\nOne answer a line; beside it the true label.")
    with gr.Row():
        answers = gr.Textbox(ANSWERS, label="Answers", lines=8)
        references = gr.Textbox(REFERENCES, label="True labels", lines=8)
    parser = gr.Radio(list(PARSER_LABELS), value="ternary", label="Question")
    result = gr.Code(label="Result", language="json")
    gr.Button("Score").click(score, [answers, references, parser], result)

if __name__ == "__main__":
    demo.launch()
