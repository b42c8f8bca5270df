import { transform } from 'esbuild'
import t from 'tap'
import { redirectUriFor, snippets } from '../../packages/console/applications/snippets.ts'

// The configuration that the console writes for applications.

const callback = 'https://app.example.com/login/generic_oauth'

/** What a line of a file can be, by the ending of its name. */
const lineOf: Record<string, RegExp> = {
  env: /^(#.*|[A-Z_]+=\S+)$/,
  local: /^(#.*|[A-Z_]+=\S+)$/,
  yml: /^( *)([\w-]+:( (\S+|"[^"]*"|\[("[^"]*"(, )?)+\]))?|#.*)$/,
  py: /^([A-Z_]+ \+?= (True|False|"[^"]*"|\["[^"]*"\])( +#.*)?|from .* import .*|urlpatterns \+= \[.*\]|)$/,
  ini: /^(;.*|\[[\w.]+\]|\w+ = \S.*)$/,
  cfg: /^(#.*|\w+ = ("[^"]*"|\["[^"]*"\]))$/,
  conf: /^(#.*| *[A-Z]\w+ (\w[\w-]*|"[^"]*")|<\/?Location( "\/")?>|)$/,
}

t.test('each configuration has the values of its client, and is well formed', async (t) => {
  const settings = {
    issuer: 'https://id.example.com/bailiwick',
    clientId: `bwa_${'1'.repeat(44)}`,
    secret: `bws_${'2'.repeat(49)}`,
    redirectUri: 'https://app.example.com/callback',
    scope: 'openid email offline_access member:list',
    algorithm: 'ES256',
    authentication: 'client_secret_post' as const,
  }
  for (const { name, kind, files } of snippets) {
    const all = Object.values(files(settings)).join('\n')
    const { issuer, clientId, secret } = settings
    for (const value of [issuer, clientId, ...(kind === 'web' ? [secret] : [])])
      t.ok(all.includes(value), `${name}: ${value}`)
    t.notMatch(all, /undefined["'\s]|\[object/)
    t.notMatch(all, /secret_?basic|BASIC_AUTH = True/i, `${name} shows the secret as the client does`)
    for (const [file, text] of Object.entries(files(settings)))
      if (/\.m?[jt]s$/.test(file)) await t.resolves(transform(text, { loader: 'ts' }), `${name}: ${file}`)
      else
        for (const line of text.split('\n'))
          t.match(line, lineOf[/[^.]+$/.exec(file)![0]]!, `${name}: ${file}: ${line}`)
  }
})

t.test(
  'the redirect URI of a configuration is one that the client has, or is named as missing',
  async (t) => {
    const client = { redirect_uris: ['https://app.example.com/a/', callback] }
    const of = (name: string) =>
      redirectUriFor(
        snippets.find((one) => one.name === name)!,
        client as Parameters<typeof redirectUriFor>[1],
      )
    t.same(of('Grafana'), { redirectUri: callback, isKnown: true })
    t.same(of('Express with openid-client 6'), { redirectUri: 'https://app.example.com/a/', isKnown: true })
    t.same(of('oauth2-proxy'), { redirectUri: 'https://app.example.com/oauth2/callback', isKnown: false })
  },
)
