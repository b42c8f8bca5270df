// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
import type { Mutation } from '../mutation.ts'

/** Mistakes in the code of tokens and sessions. */
export const sessionsMutations: readonly Mutation[] = [
  {
    what: 'the type of a token is not checked',
    attacks: ['tokens'],
    file: 'src/crypto/token-signer.ts',
    find: `        typ: headerType[kind],
        algorithms`,
    replace: '        algorithms',
  },
  {
    what: 'the issuer is not checked',
    attacks: ['tokens'],
    file: 'src/crypto/token-signer.ts',
    find: `        issuer,
        ...acc`,
    replace: '        ...acc',
  },
  {
    what: 'the audience is not checked',
    attacks: ['tokens'],
    file: 'src/crypto/token-signer.ts',
    find: `        ...acceptedAudiences(kind, inForce, issuer),
`,
    replace: '',
  },
  {
    what: 'any audience of the service will do',
    attacks: ['tokens'],
    file: 'src/crypto/token-signer.ts',
    find: "kind === 'access' ? audience : [issuer, audience]",
    replace: '[issuer, audience]',
  },
  {
    what: 'a token of any length is read',
    attacks: ['tokens'],
    file: 'src/crypto/token-signer.ts',
    find: `if (token.length > maxTokenLength) throw tokenNotValid()
`,
    replace: '',
  },
  {
    what: 'the kid is not compared',
    attacks: ['tokens'],
    file: 'src/crypto/token-signer.ts',
    find: 'k.kid === kid && k.algorithm === alg',
    replace: 'k.algorithm === alg',
  },
  {
    what: 'the clock tolerance is an hour',
    attacks: ['expiry'],
    file: 'src/crypto/token-signer.ts',
    find: 'const clockTolerance = 5 ',
    replace: 'const clockTolerance = 3600 ',
  },
  {
    what: 'cached tokens do not expire',
    attacks: ['expiry'],
    file: 'src/crypto/token-signer.ts',
    find: 'known && known.claims.exp * 1000 > now && ring()',
    replace: 'known && ring()',
  },
  {
    what: 'claims are not validated',
    attacks: ['tokens'],
    file: 'src/crypto/token-signer.ts',
    find: 'claims: schema.parse(payload) as ClaimsOf<Kind>',
    replace: 'claims: (schema, payload) as never',
  },
  {
    what: 'token_type of access tokens is any text',
    attacks: ['tokens'],
    file: 'src/crypto/token-claims.ts',
    find: "token_type: z.literal('access')",
    replace: 'token_type: z.string()',
  },
  {
    what: 'the session of a token is any text',
    attacks: ['tokens'],
    file: 'src/crypto/token-claims.ts',
    find: '  sid: uuid,',
    replace: '  sid: z.string(),',
  },
  {
    what: 'the tenant of a token is any text',
    attacks: ['tokens'],
    file: 'src/crypto/token-claims.ts',
    find: `  tenant_id: uuid,
  jti`,
    replace: `  tenant_id: z.string(),
  jti`,
  },
  {
    what: 'exp is optional',
    attacks: ['tokens'],
    file: 'src/crypto/token-claims.ts',
    find: '  exp: seconds,',
    replace: '  exp: seconds.optional() as never,',
  },
  {
    what: 'the scheme of the header does not matter',
    attacks: ['tokens'],
    file: 'src/http/bearer-token.ts',
    find: '/^(bearer|dpop) +([',
    replace: '/^(\\w+) +([',
  },
  {
    what: 'ended sessions go on',
    attacks: ['roles', 'expiry'],
    file: 'src/request/check-session.ts',
    find: 'if (auth && !auth.session.over) return',
    replace: 'if (auth) return',
  },
  {
    what: 'deactivated people go on',
    attacks: ['expiry'],
    file: 'src/request/check-session.ts',
    find: `if (auth && !auth.user.isActive) throw token === 'key' ? tokenNotValid() : sessionRevoked()
`,
    replace: '',
  },
  {
    what: 'nested paths take a token of another tenant',
    attacks: ['roles'],
    file: 'src/request/check-session.ts',
    find: `  if (route.scope === 'inside')
    throw`,
    replace: `  if (route.scope === ('never' as never))
    throw`,
  },
  {
    what: 'strangers are told apart from members',
    attacks: ['roles', 'cross-tenant'],
    file: 'src/request/check-session.ts',
    find: `if (auth.membership?.status !== 'active') throw notFound()
`,
    replace: '',
  },
  {
    what: 'a strict tenant is changed from outside',
    attacks: ['factors'],
    file: 'src/request/check-session.ts',
    find: "if (method === 'GET' || !tenant?.requireMfa || session.acr === 'aal2') return",
    replace: 'return',
  },
  {
    what: 'an ended session is not over',
    attacks: ['roles'],
    file: 'src/identity/sessions/context-store.ts',
    find: 'created_at as begun_at, ${connectionColumns}, ${over} as over',
    replace: 'created_at as begun_at, ${connectionColumns}, false as over',
  },
  {
    what: 'a session is not that of the person',
    attacks: ['tokens'],
    file: 'src/identity/sessions/context-store.ts',
    find: 'where s.id = ${sessionId} and s.user_id = ${userId}`',
    replace: 'where s.id = ${sessionId}`',
    also: [
      {
        file: 'src/database/schema/identity.sql',
        find: `create policy own_rows on sessions for all to bailiwick_api
  using (user_id = nullif(current_setting('app.user_id', true), '')::uuid)
  with check (user_id = nullif(current_setting('app.user_id', true), '')::uuid);
`,
        replace: `create policy own_rows on sessions for all to bailiwick_api using (true);
`,
      },
    ],
  },
  {
    what: 'a waiting sign-in never ends',
    attacks: ['factors', 'races'],
    file: 'src/identity/sessions/context-store.ts',
    find: '           p.ended_at is not null or p.expires_at <= ${now} or',
    replace: '           p.expires_at <= ${now} or',
  },
  {
    what: 'refreshes do not wait for each other',
    attacks: ['races'],
    file: 'src/identity/sessions/store.ts',
    find: `    for no key update\`)
  return locked !== null`,
    replace: `    \`)
  return locked !== null`,
    also: [
      {
        file: 'src/identity/sign-in/chains.ts',
        find: 'const jti = jtiOf(deps, familyId, generation + 1)',
        replace: 'const jti = timeOrderedId(now)',
      },
    ],
  },
  {
    what: 'switching asks for no membership',
    attacks: ['cross-tenant'],
    file: 'src/identity/sign-in/switch-tenant.ts',
    find: `if (chosen.kind === 'refused') return chosen
`,
    replace: `if (chosen.kind === 'refused') return { kind: 'continued', grant: await addFamily(deps, tx, { sessionId, userId, email: session.email, tenantId, roles: [], amr: session.amr, authTime: session.auth_time, secondFactorAt: null, expiresAt: session.expires_at, settled: {} as never }, now) }
`,
  },
  {
    what: 'a switch without the refresh token lasts as long as the session',
    attacks: ['factors'],
    file: 'src/identity/sign-in/switch-tenant.ts',
    find: 'Math.min(own.endsAt, now + switchedMs(deps))',
    replace: 'session.expires_at',
  },
  {
    what: 'a switch takes the refresh token of any chain',
    attacks: ['kinds'],
    file: 'src/identity/sign-in/switch-tenant.ts',
    find: `if (presented && presented.familyId !== caller.familyId) throw notOwnToken()
`,
    replace: '',
    also: [
      {
        file: 'src/identity/sign-in/switch-tenant.ts',
        find: 'if (presented && !(family && isShown(deps, family, presented, now))) return refused(notOwnToken())\n',
        replace: '',
      },
    ],
  },
  {
    what: 'a switch without the refresh token gets one of its own chain',
    attacks: ['races'],
    file: 'src/identity/sign-in/switch-tenant.ts',
    find: 'showsChain && family ? await',
    replace: 'family ? await',
  },
  {
    what: 'a second factor raises every chain of the session',
    attacks: ['factors'],
    file: 'src/identity/sessions/context-store.ts',
    find: 'on f.id = ${familyId} and f.session_id = s.id',
    replace: 'on f.second_factor_at is not null and f.session_id = s.id',
  },
  {
    what: 'a second factor leaves the cookie',
    attacks: ['factors', 'sign-in-pages'],
    file: 'src/pages/browser-session/credentials.ts',
    find: "case 'renewed':\n      await replaceCookies(deps, http, authenticatedCookie(http))",
    replace: "case 'renewed':",
  },
  {
    what: 'the next person of a browser leaves the session before',
    attacks: ['sign-in-pages'],
    file: 'src/pages/browser-session/change-cookies.ts',
    find: '    if (before && before.user_id !== userId) await endSessionOf(tx, before, http, at)\n',
    replace: '',
  },
  {
    what: 'a form of the pages never ends',
    attacks: ['sign-in-pages'],
    file: 'src/pages/sign-in/flow.ts',
    find: 'if (clock() - at <= lifeMs) return flow',
    replace: 'if (clock() - at <= Number.MAX_VALUE) return flow',
  },
  {
    what: 'a frame enters the console',
    attacks: ['sign-in-pages'],
    file: 'src/pages/console/enter.ts',
    find: "    if (!['', 'document'].includes(http.get('sec-fetch-dest'))) throw notInPage()\n",
    replace: '',
  },
  {
    what: 'a claimed address is confirmed as the thief left it',
    attacks: ['sign-in-pages'],
    file: 'src/identity/auth/mail-address-owner.ts',
    find: 'const isClaim = found?.is_active && !found.email_verified',
    replace: 'const isClaim = found === undefined',
  },
  {
    what: 'malformed ids reach the database',
    attacks: ['malformed', 'cross-tenant'],
    file: 'src/request/path-id.ts',
    find: `  if (!isUuid(id)) throw notFound()
`,
    replace: '',
  },
  {
    what: 'a revoked key works',
    attacks: ['keys'],
    file: 'src/identity/api-keys/find-key-context.ts',
    find: 'if (!row || row.is_revoked) return null',
    replace: 'if (!row) return null',
  },
  {
    what: 'a key does not expire',
    attacks: ['keys'],
    file: 'src/identity/api-keys/find-key-context.ts',
    find: '  if (row.is_expired) throw keyExpired()\n',
    replace: '',
  },
  {
    what: 'a key has all permissions of its person',
    attacks: ['keys'],
    file: 'src/identity/api-keys/find-key-context.ts',
    find: 'return { row, scopes: row.scopes,',
    replace: 'return { row, scopes: null,',
  },
  {
    what: 'the checksum of a key is not compared',
    attacks: ['keys'],
    file: 'src/identity/api-keys/key-text.ts',
    find: ' || text.slice(secretEnd) !== checksum(text.slice(0, secretEnd))',
    replace: '',
    also: [
      {
        file: 'src/identity/api-keys/api-keys.ts',
        find: '!found || !timingSafeEqual(found.key_hash, read.hash)',
        replace: '!found',
      },
    ],
  },
  {
    what: 'the hash of a key is not compared',
    attacks: ['keys'],
    file: 'src/identity/api-keys/api-keys.ts',
    find: '!found || !timingSafeEqual(found.key_hash, read.hash)',
    replace: '!found',
  },
  {
    what: 'keys read the keys of a service account',
    attacks: ['keys'],
    file: 'src/request/authenticate.ts',
    find: '  if (sessionOnly) throw new ApiError(403, code, reasonSentence(code))\n',
    replace: '',
  },
]
