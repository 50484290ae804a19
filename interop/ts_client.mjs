// The TypeScript client against a conformance example: everything that the fixture contract in README.md names.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { main, ok, target, text, until } from './check.mjs';

const { era, url, command, args } = target();
const modern = era === 'modern';
let changes = 0;
let asked;

const client = new Client({ name: 'callgate-interop', version: '1' }, {
  capabilities: { elicitation: { form: {} } },
  versionNegotiation: { mode: modern ? { pin: '2026-07-28' } : 'legacy' },
});
client.setRequestHandler('elicitation/create', async (request) => {
  asked = request.params;
  const names = Object.keys(request.params.requestedSchema?.properties ?? {});
  return { action: 'accept', content: Object.fromEntries(names.map((name) => [name, 'Dana'])) };
});
client.setNotificationHandler('notifications/tools/list_changed', () => { changes += 1; });

// All three message patterns: requests, rounds of input, and a subscription.
// Requirements: BASE-01
main(async () => {
  await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args }));

  if (modern) {
    const found = await client.discover();
    ok(found.supportedVersions.includes('2026-07-28'), 'server/discover offers 2026-07-28', found);
    ok(found.capabilities.tools !== undefined, 'server/discover declares tools', found);
  } else {
    ok(client.getProtocolEra() === 'legacy', 'initialize negotiates a legacy revision', client.getNegotiatedProtocolVersion());
    ok(client.getServerVersion()?.name !== undefined, 'initialize names the server', client.getServerVersion());
  }

  // Without a cursor this client walks all pages by itself, so the first page is asked for in the raw.
  let page = await client.request({ method: 'tools/list', params: {} });
  ok(page.nextCursor !== undefined, 'tools/list has more than one page', page.tools.length);
  const names = page.tools.map((tool) => tool.name);
  for (let pages = 1; page.nextCursor !== undefined && pages < 100; pages += 1) {
    page = await client.listTools({ cursor: page.nextCursor });
    names.push(...page.tools.map((tool) => tool.name));
  }
  ok(new Set(names).size === names.length, 'no tool stands on two pages', names);
  for (const name of ['test_simple_text', 'add', 'slow', 'cancelled_count']) {
    ok(names.includes(name), `tools/list has ${name}`, names);
  }
  const whole = (await client.listTools()).tools.map((tool) => tool.name);
  ok(JSON.stringify(whole) === JSON.stringify(names), 'the list is the same when the client walks it', { whole, names });

  const simple = await client.callTool({ name: 'test_simple_text' });
  ok(!simple.isError && text(simple).length > 0, 'a call without arguments answers text', simple);

  const sum = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
  ok(sum.structuredContent?.sum === 3, 'a call answers structured output', sum);
  ok(JSON.stringify(JSON.parse(text(sum))) === '{"sum":3}', 'structured output stands in the text too', sum);

  const invalid = await client.callTool({ name: 'add', arguments: { a: 'one', b: 2 } });
  ok(invalid.isError === true, 'a wrong argument is a tool error', invalid);
  ok(text(invalid).includes('/a'), 'the error names the pointer of the argument', invalid);

  const elicited = modern
    ? await client.callTool({ name: 'test_input_required_result_elicitation', arguments: {} })
    : await client.callTool({ name: 'test_elicitation', arguments: { message: 'Who are you?' } });
  ok(typeof asked?.message === 'string', 'an elicitation reaches the client', elicited);
  ok(!elicited.isError && text(elicited).includes('Dana'), 'its answer reaches the tool', elicited);

  const progress = [];
  const slow = await client.callTool({ name: 'slow', arguments: { ms: 400 } }, { onprogress: (p) => progress.push(p.progress) });
  ok(!slow.isError, 'a slow call ends', slow);
  ok(progress.length >= 3, 'progress arrives while it runs', progress);
  ok(progress.every((value, at) => at === 0 || value > progress[at - 1]), 'progress increases', progress);

  const count = async () => (await client.callTool({ name: 'cancelled_count', arguments: {} })).structuredContent?.count;
  const before = await count();
  ok(Number.isInteger(before), 'cancelled_count answers a number', before);
  const abort = new AbortController();
  let refused = false;
  const running = client
    .callTool({ name: 'slow', arguments: { ms: 60000 } }, { signal: abort.signal, onprogress: () => abort.abort('enough') })
    .catch(() => { refused = true; });
  await running;
  ok(refused, 'a cancelled call gives no result');
  ok(await until(async () => (await count()) > before), 'the server sees the cancellation', { before, after: await count() });

  const subscription = modern ? await client.listen({ toolsListChanged: true }) : undefined;
  if (modern) ok(subscription.honoredFilter.toolsListChanged === true, 'subscriptions/listen is acknowledged', subscription.honoredFilter);
  await client.callTool({ name: 'test_trigger_tool_change', arguments: {} });
  ok(await until(() => changes > 0), 'a change of the tool list is announced', changes);
  await subscription?.close();

  await client.close();
});
