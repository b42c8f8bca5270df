import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'

// Full tokens without the second factor that was due would bypass every other check. The compiler enforces the chain:
// issueTokens takes a Grant, a Grant holds an Entitled, an Entitled holds a SecondFactorSettled, and that type's brand
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

t.test('one file signs access and refresh tokens, and one other signs temporary tokens', async (t) => {
  t.strictSame(
    filesWith(/(?<!Math)\.sign\(/).sort(),
    ['src/crypto/token-signer.ts', signIn('issue-tokens'), signIn('second-factor')].sort(),
  )
  const signed = (name: string) =>
    [...sources.get(signIn(name))!.matchAll(/\.sign\(\s*'(\w+)'/g)].map(([, kind]) => kind)
  t.strictSame(signed('issue-tokens'), ['access', 'refresh', 'access'], 'the last one is of an impersonation')
  t.strictSame(filesWith(/\bissueImpersonation\(/).sort(), [
    'src/identity/impersonation/impersonate.ts',
    signIn('issue-tokens'),
  ])
  t.strictSame(signed('second-factor'), ['otp_pending'])
  t.strictSame(filesWith(/new (SignJWT|CompactSign)\b/), ['src/crypto/token-signer.ts'])
})

t.test('only one file makes the proof of a checked second factor, and no file casts one', async (t) => {
  const proofs = /as (unknown as )?(SecondFactorSettled|Entitled|Grant)\b/
  t.strictSame(filesWith(proofs), [signIn('second-factor')])
  t.equal(sources.get(signIn('second-factor'))!.match(/as SecondFactorSettled/g)!.length, 1)
  t.match(
    sources.get(signIn('issue-tokens'))!,
    /settled: SecondFactorSettled\n\}/,
    'the field is not optional',
  )
  t.strictSame(
    filesWith(/\bsettledByFactor\(/).sort(),
    [signIn('complete-sign-in'), signIn('sign-in')],
    'by a factor: only where one was used up',
  )
})

t.test(
  'every way in shows its first factor to one function, and only a passkey is a second one too',
  async (t) => {
    t.strictSame(filesWith(/\bsignIn\(/).sort(), [
      'src/identity/auth/accept-invitation.ts',
      'src/identity/sign-in/sign-in-to.ts',
      signIn('sign-in'),
    ])
    t.strictSame(filesWith(/\bsignInTo\(/).sort(), [
      'src/identity/sign-in/login.ts',
      'src/identity/sign-in/sign-in-to.ts',
      'src/identity/magic-links/confirm-magic-link.ts',
      'src/identity/passkeys/sign-in-with-passkey.ts',
    ])
    t.strictSame(filesWith(/\basSecond:/), ['src/identity/passkeys/sign-in-with-passkey.ts'])
    t.match(
      sources.get(signIn('sign-in'))!,
      /counts \? settledByFactor\('passkey'\) : await checkSecondFactor\(/,
    )
  },
)

t.test(
  'every caller that begins or advances a chain of refresh tokens checks for a second factor first',
  async (t) => {
    t.strictSame(filesWith(/\b(insertFamily|rotateFamily)\(/).sort(), [
      sessions('family-store'),
      signIn('issue-tokens'),
    ])
    const callers = filesWith(/\b(beginFamily|addFamily|advanceFamily|liveGrant)\(/).filter(
      (name) => name !== signIn('issue-tokens'),
    )
    t.strictSame(callers.sort(), [
      'src/identity/sign-in/refresh.ts',
      'src/identity/sign-in/switch-tenant.ts',
      signIn('complete-sign-in'),
      signIn('open-session'),
    ])
    for (const name of ['src/identity/sign-in/refresh.ts', 'src/identity/sign-in/switch-tenant.ts'])
      t.match(sources.get(name)!, /\b(checkSecondFactor|dueFactor)\(/, name)
    t.strictSame(filesWith(/\bopenSession\(/).sort(), [
      signIn('complete-sign-in'),
      signIn('open-session'),
      signIn('sign-in'),
    ])
    t.match(sources.get(signIn('sign-in'))!, /await checkSecondFactor\(/)
  },
)
