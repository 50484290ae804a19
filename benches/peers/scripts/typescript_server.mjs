// The TypeScript SDK's peer of the benchmark: one echo tool as its documentation shows it.
// Started by `load`:  node typescript_server.mjs http 500 | node typescript_server.mjs stdio 1
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [transport, tools = '1'] = process.argv.slice(2);

const echo = {
  description: 'Send the text back',
  inputSchema: z.strictObject({ text: z.string().max(1000).describe('What to send back') }),
  outputSchema: z.object({ text: z.string().describe('What was sent') }),
};
const lookup = {
  description: 'Look up the lines of one invoice by its reference',
  inputSchema: z.object({
    reference: z.string().max(40).describe('Reference of the invoice'),
    limit: z.int().min(1).max(100).describe('How many lines to return'),
  }),
};

// The SDK calls this once per HTTP request, or once per stdio connection.
const build = () => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('echo', echo, async ({ text }) => ({
    content: [{ type: 'text', text: JSON.stringify({ text }) }],
    structuredContent: { text },
  }));
  for (let index = 1; index < Number(tools); index += 1) {
    server.registerTool(`lookup_${String(index).padStart(3, '0')}`, lookup, async () => ({ content: [] }));
  }
  return server;
};

if (transport === 'stdio') {
  serveStdio(build);
} else {
  const handle = toNodeHandler(createMcpHandler(build));
  const validateHost = localhostHostValidation();
  const validateOrigin = localhostOriginValidation();
  const http = createServer((request, response) => {
    if (validateHost(request, response) && validateOrigin(request, response)) void handle(request, response);
  });
  http.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${http.address().port}/mcp`));
}
