import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'

// Full tokens without the second factor that was due would bypass every other check. The compiler enforces the chain:
// issueTokens takes a Grant, a Grant holds a CheckedSession, that holds a SecondFactorSettled, and that type's brand
// has no value outside its file. These tests show that no code bypasses the compiler.

const root = new URL('../../../', import.meta.url)
const sources = new Map<string, string>()
for (const folder of ['src/', 'workers/'])
  for (const name of await readdir(new URL(folder, root), { recursive: true }))
    if (name.endsWith('.ts')) sources.set(folder + name, await readFile(new URL(folder + name, root), 'utf8'))

const filesWith = (pattern: RegExp) =>
  [...sources].filter(([, text]) => pattern.test(text)).map(([name]) => name)
const sessions = (name: string) => `src/identity/sessions/${name}.ts`
const signIn = (name: string) => `src/identity/sign-in/${name}.ts`

/** The secret of a client at Apple is a token that the client signs, with a key of its own. */
const atApple = 'src/federation/providers/apple.ts'

t.test('one file signs all tokens', async (t) => {
  t.strictSame(filesWith(/(?<!Math)\.sign\(/).sort(), [
    'src/crypto/token-signer.ts',
    atApple,
    signIn('issue-tokens'),
  ])
  const text = sources.get(signIn('issue-tokens'))!
  t.strictSame(
    [...text.matchAll(/\.sign\(\s*'(\w+)'/g)].map(([, kind]) => kind),
    ['access', 'refresh', 'otp_pending', 'access'],
    'the last one is of an impersonation',
  )
  t.match(text, /\nasync function issueTokens\(/, 'it is reached with an outcome only')
  t.match(text, /\nasync function issueImpersonation\(/, 'so is the token of an impersonation')
  t.strictSame(filesWith(/\bkind: 'acting'(?!\n)/), ['src/identity/impersonation/impersonate.ts'])
  t.strictSame(filesWith(/new (SignJWT|CompactSign)\b/).sort(), ['src/crypto/token-signer.ts', atApple])
})

t.test('only one file makes the proof of a checked second factor, and no file casts one', async (t) => {
  const proofs = /as (unknown as )?(SecondFactorSettled|CheckedSession|Grant)\b/
  t.strictSame(filesWith(proofs), [signIn('second-factor')])
  t.equal(sources.get(signIn('second-factor'))!.match(/as SecondFactorSettled/g)!.length, 1)
  t.match(
    sources.get(signIn('issue-tokens'))!,
    /settled: SecondFactorSettled\n\}/,
    'the field is not optional',
  )
  t.strictSame(
    filesWith(/\bsettledByFactor\(/),
    [signIn('complete-sign-in')],
    'by a factor: only where one was used up',
  )
})

t.test('one file makes the proof that the way in is open', async (t) => {
  t.strictSame(filesWith(/as (unknown as )?WayOpen\b/), [signIn('way-in')])
  t.match(sources.get(signIn('issue-tokens'))!, /way: WayOpen\n/, 'the field is not optional')
  // The first one asks before it links anything, and makes no use of the proof.
  t.strictSame(filesWith(/\bcheckWay\(/).sort(), [
    'src/federation/join-by-connection.ts',
    signIn('complete-sign-in'),
    signIn('continue-session'),
    signIn('sign-in'),
    signIn('way-in'),
    'src/oauth/account.ts',
  ])
})

t.test('every way in shows its first factor to one function, which checks for a second one', async (t) => {
  t.strictSame(filesWith(/\bsignIn\(/).sort(), [
    'src/federation/settle.ts',
    'src/identity/auth/join-as-newcomer.ts',
    'src/identity/magic-links/confirm-magic-link.ts',
    'src/identity/passkeys/sign-in-with-passkey.ts',
    signIn('login'),
    signIn('sign-in-registered'),
    signIn('sign-in'),
  ])
  const text = sources.get(signIn('sign-in'))!
  t.match(text, /const isSecond = factor\.kind === 'passkey' && factor\.counts/, 'only a passkey is both')
  t.strictSame(filesWith(/\bkind: 'passkey', /), ['src/identity/passkeys/sign-in-with-passkey.ts'])
  t.match(text, /settled: second\.proof/)
  t.match(
    text,
    /\? now : trustsMfa \? upstreamMfaAt\(factor\) : null/,
    'or a connection that the tenant trusts',
  )
})

t.test(
  'every caller that begins or advances a chain of refresh tokens checks for a second factor first',
  async (t) => {
    t.strictSame(filesWith(/\b(insertFamily|rotateFamily)\(/).sort(), [
      sessions('family-store'),
      signIn('chains'),
      signIn('issue-tokens'),
    ])
    const own = [signIn('chains'), signIn('issue-tokens')]
    const callers = filesWith(/\b(beginFamily|addFamily|advanceFamily|renewFamily|liveGrant)\(/)
    t.strictSame(callers.filter((name) => !own.includes(name)).sort(), [
      signIn('complete-sign-in'),
      signIn('refresh'),
      signIn('renew-session'),
      signIn('sign-in'),
      signIn('switch-tenant'),
    ])
    t.strictSame(filesWith(/\bcheckSecondFactor\(/).sort(), [
      signIn('continue-session'),
      signIn('second-factor'),
      signIn('sign-in'),
    ])
    for (const name of ['refresh', 'renew-session', 'switch-tenant'])
      t.match(sources.get(signIn(name))!, /\b(checkChain|checkEntry)\(/, name)
    t.strictSame(filesWith(/\bopenSession\(/).sort(), [signIn('complete-sign-in'), signIn('sign-in')])
  },
)
