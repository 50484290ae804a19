// An authorization server for the runs with access tokens: `oidc-provider`, with one user who consents to everything
// but what an order withholds.
//
// It says where it listens on its first line. Beyond the protocol it takes orders at `/control`, so that a script can
// change its keys, its name, what the user agrees to, and the kind and life of its tokens. It is for tests only.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const SCOPES = 'mcp invoices:read reports:read';
const tokens = { format: 'jwt', ttl: 300 };
// Scopes that the user does not agree to.
let withheld = [];
let keys = [key('key-1')];
let provider;

function key(kid) {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...pair.privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'ES256' };
}

function configuration() {
  return {
    jwks: { keys },
    clients: [
      { client_id: 'callgate', client_secret: 'introspection-secret', redirect_uris: [], response_types: [], grant_types: [] },
      {
        client_id: 'machine',
        client_secret: 'machine-secret',
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
      },
    ],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    scopes: SCOPES.split(' '),
    pkce: { required: () => true },
    routes: { registration: '/register' },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: (_ctx, client) => client.clientId === 'callgate' },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: SCOPES,
          audience: resource,
          accessTokenFormat: tokens.format,
          accessTokenTTL: tokens.ttl,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    extraTokenClaims: () => ({ tenant: 'tenant-b' }),
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    clientBasedCORS: () => true,
    cookies: { keys: ['only for tests'] },
  };
}

function make(issuer) {
  provider = new Provider(issuer, configuration());
  provider.on('server_error', (_ctx, error) => console.error('server_error', error));
}

/** The user is known and agrees to what is asked, except for what is withheld. */
async function consent(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'erin' } });
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const missing = prompt.details;
  if (missing.missingOIDCScope) grant.addOIDCScope(missing.missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
    const given = scopes.filter((scope) => !withheld.includes(scope));
    const refused = scopes.filter((scope) => withheld.includes(scope));
    if (given.length) grant.addResourceScope(resource, given.join(' '));
    if (refused.length) grant.rejectResourceScope(resource, refused.join(' '));
  }
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } }, { mergeWithLastSubmission: true });
}

/** Registers a client without the scopes that it asked for first: it may come back for more. */
async function register(request, response) {
  let body = '';
  for await (const part of request) body += part;
  const { scope: _asked, ...metadata } = JSON.parse(body);
  request.body = metadata;
  return provider.callback()(request, response);
}

async function control(request, response, issuer) {
  let body = '';
  for await (const part of request) body += part;
  const order = JSON.parse(body);
  if (order.format) tokens.format = order.format;
  if (order.ttl) tokens.ttl = order.ttl;
  if (order.withhold) withheld = order.withhold;
  // The first one signs; those that were there stay as long as they are named.
  if (order.keys) keys = order.keys.map((kid) => keys.find((known) => known.kid === kid) ?? key(kid));
  // Another name in the tokens, with the same keys.
  if (order.keys || order.name !== undefined) make(issuer + (order.name ?? ''));
  response.end('{}');
}

const server = createServer((request, response) => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const failed = (error) => {
    console.error(error);
    response.statusCode = 500;
    response.end();
  };
  if (request.url === '/control') control(request, response, issuer).catch(failed);
  else if (request.method === 'POST' && request.url === '/register') register(request, response).catch(failed);
  else if (request.url.startsWith('/interaction/')) consent(request, response).catch(failed);
  else provider.callback()(request, response);
});
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  make(issuer);
  console.log(`listening on ${issuer}`);
});
