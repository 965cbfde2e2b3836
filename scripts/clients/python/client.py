"""An MCP client made with the official Python SDK.

Usage: python client.py legacy|auto SERVER [ARG...]

Connects to SERVER, by the handshake or by the newest way that it knows, makes the calls on standard input (a JSON
array) all at once, and prints what came of them.
"""

import asyncio
import json
import sys

from jsonschema.validators import validator_for
from mcp import Client, MCPError, StdioServerParameters


async def outcome(client, call):
    try:
        # The SDK checks an answer against the tool's output schema.
        result = await client.call_tool(call["tool"], call["arguments"])
    except MCPError as error:
        return {"error": {"code": error.code, "data": error.data}}
    return {"refusal" if result.is_error else "answer": result.structured_content}


async def main(mode, command, *args):
    calls = json.load(sys.stdin)
    async with Client(StdioServerParameters(command=command, args=args), mode=mode) as client:
        tools = (await client.list_tools()).tools
        for tool in tools:
            for schema in tool.input_schema, tool.output_schema:
                validator_for(schema).check_schema(schema)
        report = {
            "revision": client.protocol_version,
            "server": client.server_info.name,
            "tools": [tool.name for tool in tools],
            "outcomes": await asyncio.gather(*(outcome(client, call) for call in calls)),
        }
    print(json.dumps(report))


asyncio.run(main(*sys.argv[1:]))
