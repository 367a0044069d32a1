"""A page to try the parsers: one answer a line."""

import json
from pathlib import Path

import evaluate
import gradio as gr

from otoscope.responses import PARSERS

ANSWERS = "Increase\nIt decreases.\nBoth increase and decrease.\nI cannot tell."


def score(answers: str, parser: str) -> str:
    """Results for a text with one answer a line."""
    metric = evaluate.load(str(Path(__file__).with_name("answer_parsing.py")))
    return json.dumps(metric.compute(predictions=answers.splitlines(), parser=parser), indent=2)


with gr.Blocks(title="Answer parsing") as demo:
    gr.Markdown("# Answer parsing\nOne answer a line.")
    answers = gr.Textbox(ANSWERS, label="Answers", lines=8)
    parser = gr.Dropdown(list(PARSERS), value="paper", label="Parser")
    result = gr.Code(label="Result", language="json")
    gr.Button("Parse").click(score, [answers, parser], result)

if __name__ == "__main__":
    demo.launch()
