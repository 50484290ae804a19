// The TypeScript client against the binary: a call approved, declined and dismissed in the call, and one that waits for a second person.
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { main, ok, target, text } from './check.mjs';

const { era, command } = target();
const directory = mkdtempSync(join(tmpdir(), 'approvals-'));
const config = join(directory, 'callgate.toml');
const callgate = (...args) => execFileSync(command, args, { encoding: 'utf8' });
let action = 'accept';
const asked = [];

/** A project in which one tool needs the caller's approval, and another one that of a second person. */
function project() {
  callgate('init', directory);
  appendFileSync(config, '\n[store]\nkind = "sqlite"\npath = "store.db"\n\n[policy]\nfiles = ["main.cedar"]\n');
  writeFileSync(join(directory, 'main.cedar'), `
@id("all") permit (principal, action, resource);
@id("by-two") forbid (principal, action == Action::"call:invoice_get", resource) unless { context.second_person };
@id("approved") forbid (principal, action == Action::"call:invoice_list", resource) unless { context.approved };
`);
  callgate('migrate', '--config', config);
}

const client = new Client({ name: 'callgate-interop', version: '1' }, {
  capabilities: { elicitation: { form: {} } },
  versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
});
client.setRequestHandler('elicitation/create', async (request) => {
  asked.push(request.params.message);
  return action === 'accept' ? { action, content: {} } : { action };
});
const approval = (result) => text(result).split(/\s+/).find((word) => word.split('-').length === 5);

main(async () => {
  project();
  const args = ['--log', 'error', 'serve', '--config', config];
  await client.connect(new StdioClientTransport({ command, args }));

  const list = () => client.callTool({ name: 'invoice_list', arguments: { status: 'open' } });
  const listed = await list();
  ok(asked.length === 1 && asked[0].includes('List invoices'), 'the caller is asked, and told of what', asked);
  ok(asked[0].includes('- status: "open"'), 'the question shows the arguments', asked);
  ok(!listed.isError && listed.structuredContent.rows.length > 0, 'accept runs the call', listed);
  for (action of ['decline', 'cancel']) {
    const refused = await list();
    ok(refused.isError && text(refused).includes('approval_denied'), `${action} ends the call`, refused);
  }
  ok(asked.length === 3, 'each call was asked about once', asked);

  const get = () => client.callTool({ name: 'invoice_get', arguments: { invoice_reference: 'A-2026-00017' } });
  const waits = await get();
  ok(waits.isError && text(waits).includes('approval_pending'), 'a second person is waited for', waits);
  ok(asked.length === 3, 'the caller is not asked', asked);
  callgate('approve', '--config', config, 'grant', approval(waits), '--by', 'kim');
  const done = await get();
  ok(!done.isError, 'the same call runs', done);
  const again = await get();
  ok(again.isError && text(again).includes('approval_pending'), 'and once only', again);
  callgate('approve', '--config', config, 'deny', approval(again), '--by', 'kim');
  const denied = await get();
  ok(denied.isError && text(denied).includes('approval_denied'), 'the same call is refused', denied);

  await client.close();
  rmSync(directory, { recursive: true });
});
