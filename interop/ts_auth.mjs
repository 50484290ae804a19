// The TypeScript client against a protected server: it finds the authorization server by itself, registers, has the
// user consent, calls, and comes back with more scopes after a 403. Then the tokens themselves are changed.
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { main, ok, target, until } from './check.mjs';

const { era, url } = target();
const issuer = process.env.ISSUER;
const REDIRECT = 'http://127.0.0.1:9/callback';

/** Follows the browser's way through the authorization server, cookies and all, to where it sends the user back. */
async function browse(start) {
  const jar = new Map();
  let at = start;
  for (let hops = 0; hops < 20; hops += 1) {
    if (at.href.startsWith(REDIRECT)) return at.searchParams;
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [pair] = set.split(';');
      const [name, ...value] = pair.split('=');
      jar.set(name, value.join('='));
    }
    const location = response.headers.get('location');
    if (!location) throw new Error(`no way on from ${at}: ${response.status} ${await response.text()}`);
    at = new URL(location, at);
  }
  throw new Error('the browser goes in circles');
}

/** What the client keeps for its user. */
class Keeper {
  asked = [];
  get redirectUrl() { return REDIRECT; }
  get clientMetadata() {
    return { client_name: 'callgate-interop', redirect_uris: [REDIRECT], grant_types: ['authorization_code'], response_types: ['code'], token_endpoint_auth_method: 'none', application_type: 'native' };
  }
  clientInformation() { return this.information; }
  saveClientInformation(information) { this.information = information; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  async redirectToAuthorization(to) {
    this.asked.push(to);
    this.callback = await browse(to);
  }
}

const order = (body) => fetch(`${issuer}/control`, { method: 'POST', body: JSON.stringify(body) });

/** A token of the client that is a machine. */
async function machine(scope, resource = url) {
  const form = new URLSearchParams({ grant_type: 'client_credentials', resource, scope });
  const authorization = `Basic ${btoa('machine:machine-secret')}`;
  const response = await fetch(`${issuer}/token`, { method: 'POST', body: form, headers: { authorization } });
  const { access_token: token } = await response.json();
  return token;
}

/** The status and the challenge with which a token is answered. */
async function present(token, tool = 'invoice_count') {
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  const params = { name: tool, arguments: {}, _meta: meta };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': tool,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const text = await response.text();
  return { status: response.status, challenge: response.headers.get('www-authenticate') ?? '', text };
}

// Requirements: AUTH-RS-01
main(async () => {
  let keeper = new Keeper();
  const open = async () => {
    const client = new Client({ name: 'callgate-interop', version: '1' }, {
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
    });
    const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: keeper });
    await client.connect(transport);
    return { client, transport };
  };
  /** Does something, and once more after the user has consented where the client asks for that. */
  const consenting = async (attempt, transport) => {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
      await transport().finishAuth(keeper.callback);
      return attempt();
    }
  };

  const fresh = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: keeper });
  const { client, transport } = await consenting(open, fresh);
  ok(keeper.asked.length === 1, 'the client asks for consent once', keeper.asked.map(String));
  ok(keeper.asked[0].searchParams.get('resource') === url, 'it asks for a token for exactly this server', String(keeper.asked[0]));
  ok(keeper.asked[0].searchParams.get('scope') === 'mcp', 'it asks for the scope that the challenge names', String(keeper.asked[0]));
  const { tools } = await client.listTools();
  ok(tools.length === 2, 'the tools are listed with the token', tools.map((tool) => tool.name));
  const count = await client.callTool({ name: 'invoice_count', arguments: {} });
  const rows = count.structuredContent?.rows;
  ok(!count.isError && rows?.[0]?.n > 0, 'a call goes through', count);

  const sum = await consenting(() => client.callTool({ name: 'invoice_sum', arguments: {} }), () => transport);
  ok(keeper.asked.length === 2, 'a 403 leads to consent once more', keeper.asked.map(String));
  const scopes = keeper.asked[1].searchParams.get('scope').split(' ').sort().join(' ');
  ok(scopes === 'invoices:read mcp reports:read', 'with all scopes that the call needs at once', scopes);
  ok(sum.structuredContent?.rows?.[0]?.caller === 'erin', 'the call then goes through in the name of the user', sum);
  await client.close();

  // Requirements: AUTH-RS-09, AUTH-RS-10, AUTH-RS-12
  ok((await present(await machine('mcp'))).status === 200, 'a token for this server is accepted');
  const foreign = await present(await machine('mcp', 'https://other.example.com/mcp'));
  ok(foreign.status === 401 && foreign.challenge.includes('invalid_token'), 'one for another server is not', foreign);

  await order({ name: '/other' });
  const misnamed = await present(await machine('mcp'));
  ok(misnamed.status === 401 && misnamed.challenge.includes('invalid_token'), 'one of another issuer is not, whoever signed it', misnamed);
  await order({ name: '' });

  // Requirements: AUTH-RS-14, AUTH-RS-15
  const bare = await present(await machine('invoices:read'));
  ok(bare.status === 403 && bare.challenge.includes('scope="mcp"'), 'one without the scope of the server is told which', bare);
  const narrow = await present(await machine('mcp invoices:read'), 'invoice_sum');
  ok(narrow.status === 403 && narrow.challenge.includes('insufficient_scope'), 'one that lacks a scope of the tool is not enough', narrow);
  ok(narrow.challenge.includes('scope="mcp invoices:read reports:read"'), 'and is told all of them', narrow);
  ok(!narrow.text.includes('"rows"'), 'without a row', narrow);

  await order({ withhold: ['reports:read'] });
  keeper = new Keeper();
  const kept = await consenting(open, fresh);
  const refused = await consenting(() => kept.client.callTool({ name: 'invoice_sum', arguments: {} }), () => kept.transport).then(
    (result) => ({ result }),
    (error) => ({ error: String(error) }),
  );
  ok(refused.result === undefined, 'a step-up to which the user does not agree does not let the call through', refused);
  ok(keeper.asked.length >= 2 && keeper.asked.length <= 4, 'and does not ask for ever', keeper.asked.length);
  ok((await present(keeper.kept.access_token)).status === 200, 'what the token is enough for still works');
  const short = await present(keeper.kept.access_token, 'invoice_sum');
  ok(short.status === 403 && short.challenge.includes('reports:read'), 'the scope that is missing is still named', short);
  await kept.client.close();
  await order({ withhold: [] });

  const old = await machine('mcp');
  await order({ keys: ['key-2', 'key-1'] });
  const signed = await machine('mcp');
  ok(await until(async () => (await present(signed)).status === 200, 20000), 'a key that is new is found without a restart', await present(signed));
  ok((await present(old)).status === 200, 'the key before it is still good');

  await order({ keys: ['key-3', 'key-2'] });
  const newest = await machine('mcp');
  ok(await until(async () => (await present(newest)).status === 200, 20000), 'a still newer key is found', await present(newest));
  const withdrawn = async () => (await present(old)).status === 401;
  ok(await until(withdrawn, 20000), 'a key that was withdrawn is good for nothing any more', await present(old));
  ok((await present(signed)).status === 200, 'the one that stayed is');

  await order({ ttl: 1 });
  const brief = await machine('mcp');
  await new Promise((resume) => setTimeout(resume, 2100));
  const expired = await present(brief);
  ok(expired.status === 401 && expired.challenge.includes('invalid_token'), 'an expired token is not accepted', expired);

  await order({ ttl: 300, format: 'opaque' });
  keeper = new Keeper();
  const again = await consenting(open, fresh);
  ok(!keeper.kept.access_token.includes('.'), 'the server gives out opaque tokens', keeper.kept.access_token.length);
  const asked = await again.client.callTool({ name: 'invoice_count', arguments: {} });
  ok(asked.structuredContent?.rows?.[0]?.n > 0, 'an opaque token is asked about and accepted', asked);
  await again.client.close();
  const unknown = await present('opaque-and-made-up');
  ok(unknown.status === 401 && unknown.challenge.includes('invalid_token'), 'one that was made up is not', unknown);
  await order({ format: 'jwt' });
});
