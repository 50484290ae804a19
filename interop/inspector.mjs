// The Inspector's command lines against a conformance example: `--cli` for single requests, `mcpdo` for what needs a
// connection (multi-round elicitation). They show no progress and no list changes, and cannot cancel.
import { execFile, spawn } from 'node:child_process';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import { main, ok, target, text, until } from './check.mjs';

const { era, url, command, args } = target();
const modern = era === 'modern';
const require = createRequire(import.meta.url);
const clients = join(dirname(require.resolve('@modelcontextprotocol/inspector/package.json')), 'clients');
const home = await mkdtemp(join(tmpdir(), 'callgate-inspector-'));

/** Runs a script of the Inspector with a home of its own, since it writes there. */
function inspector(script, parameters) {
  return new Promise((resume) => {
    const options = { env: { ...process.env, HOME: home }, timeout: 30000, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, [join(clients, script), ...parameters], options, (error, stdout, stderr) => {
      let json;
      try { json = JSON.parse(stdout); } catch { json = undefined; }
      resume({ code: error ? (error.code ?? 1) : 0, json, stdout, stderr });
    });
  });
}

function cli(...parameters) {
  const where = url ? [url, '--transport', 'http'] : [];
  const after = url ? [] : ['--', command, ...args];
  const options = ['--cli', ...where, '--protocol-era', era, '--format', 'json', ...parameters, ...after];
  return inspector('launcher/build/index.js', options);
}

// `mcpdo` would start its daemon as a process of its own, which outlives this one; as a child it ends with it.
const daemon = spawn(process.execPath, [join(clients, 'mcpdo/build/mcpdod.js')], {
  env: { ...process.env, HOME: home },
  stdio: ['ignore', 'ignore', 'inherit'],
});

main(async () => {
  try {
    await requests();
    await rounds();
  } finally {
    const ended = new Promise((resume) => daemon.once('exit', resume));
    daemon.kill('SIGTERM');
    await Promise.race([ended, new Promise((resume) => setTimeout(resume, 3000))]);
    await rm(home, { recursive: true, force: true });
  }
});

async function requests() {
  const opened = await cli('--method', 'initialize');
  const version = opened.json?.result?.protocolVersion;
  ok(modern ? version === '2026-07-28' : version < '2026', `the connection speaks ${era} MCP`, opened);
  ok(opened.json.result.capabilities.tools !== undefined, 'the server declares tools', opened.json);

  const listed = await cli('--method', 'tools/list', '--strict');
  const names = (listed.json?.result?.tools ?? []).map((tool) => tool.name);
  ok(listed.code === 0, 'tools/list holds no schema that clients refuse', listed);
  for (const name of ['test_simple_text', 'add', 'slow', 'cancelled_count']) {
    ok(names.includes(name), `tools/list has ${name} on some page`, names);
  }

  const simple = await cli('--method', 'tools/call', '--tool-name', 'test_simple_text');
  ok(simple.code === 0 && text(simple.json.result).length > 0, 'a call without arguments answers text', simple);

  const sum = await cli('--method', 'tools/call', '--tool-name', 'add', '--tool-args-json', '{"a":1,"b":2}');
  ok(sum.json?.result?.structuredContent?.sum === 3, 'a call answers structured output', sum);

  const invalid = await cli('--method', 'tools/call', '--tool-name', 'add', '--tool-args-json', '{"a":"one","b":2}');
  ok(invalid.code !== 0 || invalid.json?.result?.isError === true, 'a wrong argument is an error', invalid);
  ok(`${invalid.stdout}${invalid.stderr}`.includes('/a'), 'the error names the pointer of the argument', invalid);

  const unknown = await cli('--method', 'tools/call', '--tool-name', 'no_such_tool');
  ok(unknown.code === 5, 'a tool that does not exist is not found', unknown);
}

async function rounds() {
  const server = url
    ? { type: 'streamable-http', url, protocolEra: era }
    : { type: 'stdio', command, args, protocolEra: era };
  const config = join(home, 'mcp.json');
  await writeFile(config, JSON.stringify({ mcpServers: { fixture: server } }));
  const mcpdo = (...parameters) => inspector('mcpdo/build/mcp-bin.js', ['--format', 'json', ...parameters]);

  const token = join(home, '.mcp-inspector', 'mcpdod.token');
  ok(await until(() => access(token).then(() => true, () => false)), 'the daemon of mcpdo starts');
  const connected = await mcpdo('--config', config, 'connect', 'fixture');
  ok(connected.code === 0, 'a lasting connection is made', connected);
  const call = modern
    ? ['test_input_required_result_elicitation', '{}']
    : ['test_elicitation', '{"message":"Who are you?"}'];
  const asked = await mcpdo('--connection', 'fixture', 'tools/call', ...call);
  const pending = asked.json?.elicitationPending;
  ok(pending?.elicitationId !== undefined, 'an elicitation reaches the client', asked);
  const fields = Object.keys(findSchema(pending)?.properties ?? { name: {} });
  const answers = fields.map((name) => `${name}:=Dana`);
  const done = await mcpdo('--connection', 'fixture', 'elicitation/respond', pending.elicitationId, ...answers);
  ok(done.code === 0 && done.stdout.includes('Dana'), 'its answer reaches the tool', done);
}

/** The requested schema, wherever this version of the Inspector puts it. */
function findSchema(value) {
  if (value === null || typeof value !== 'object') return undefined;
  if (value.requestedSchema) return value.requestedSchema;
  return Object.values(value).map(findSchema).find((found) => found !== undefined);
}
