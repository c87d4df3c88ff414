"""What the model is told about the tools: little enough, and true."""

from __future__ import annotations

import json

from brimline.mcp import recall, tools

# No tokenizer is at hand. Of the ratios that brimline measured on recorded sessions (`gauge`) this
# is the one that finds most tokens in a text, and it was measured on text that packs worse than
# prose and schemas do.
CHARACTERS_PER_TOKEN = 2.2
MOST_TOKENS = 750


def test_everything_the_model_is_told_takes_little() -> None:
    """Names as the client writes them, descriptions, schemas, and the server's instructions."""
    sent = [
        {
            "name": f"mcp__brimline__{tool['name']}",
            "description": tool["description"],
            "input_schema": tool["inputSchema"],
        }
        for tool in tools.TOOLS
    ]
    text = json.dumps(sent, ensure_ascii=False) + tools.INSTRUCTIONS

    assert len(text) / CHARACTERS_PER_TOKEN < MOST_TOKENS


def test_the_schema_names_the_arguments_that_recall_takes() -> None:
    """All of them, and no other."""
    schema = tools.TOOLS[0]["inputSchema"]

    assert tuple(schema["properties"]) == recall.Asked._fields
    assert schema["additionalProperties"] is False


def test_the_tools_say_that_they_change_nothing() -> None:
    """So a client may call them without asking, where its user allows that."""
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools.TOOLS)
