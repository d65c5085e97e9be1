"""What inference servers print of their throughput: it follows the load, and is not judged."""

from diagnostics.expression import Expression
from diagnostics.series.forms.number import NUMBER, measure, read
from diagnostics.series.point import Numbers

ANCHORS = (r"generation throughput: ", r"gen throughput \(token/s\)", r"token throughput \(tok")

# vLLM: Engine 000: Avg prompt throughput: 812.4 tokens/s, Avg generation throughput: 411.7
# tokens/s, Running: 12 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: 0.0%
# SGLang: Decode batch. #running-req: 12, token usage: 0.02, gen throughput (token/s): 411.72, #q
# TensorRT-LLM: Total Output Throughput (tokens/sec): 5129.4
FORMS = tuple(
    Expression(rf"{head}\s{{0,40}}(?P<rate>{NUMBER})")
    for head in (
        r"generation throughput:",
        r"gen throughput \(token/s\):",
        r"[Tt]oken throughput \(tok(?:en)?s?/s(?:ec)?\):",
        r"Total Output Throughput \(tokens/sec\):",
    )
)


def serving(text: str) -> Numbers | None:
    """Return the tokens a second that a server generates."""
    for form in FORMS:
        if hit := form.search(text):
            return Numbers(served=measure(read(hit["rate"])))
    return None
