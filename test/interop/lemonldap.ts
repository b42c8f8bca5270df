import { createPublicKey } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { idp } from '../federation/saml/certificates.ts'
import { freePort, startProgram } from './programs.ts'

const portal = '/usr/share/lemonldap-ng/portal'

/** What LemonLDAP::NG knows of us. */
interface Parties {
  /** Of the client `bailiwick` of OpenID Connect. */
  redirectUri: string
  secret: string
  /** XML of the service provider of SAML. */
  metadata: string
}

/**
 * LemonLDAP::NG of Debian with its demonstration accounts, such as `dwho`. Gives its URL, which is the issuer. Throws where it
 * or what it needs for SAML is not installed.
 */
export async function startLemonLdap(t: Test, parties: Parties): Promise<string> {
  if (!existsSync(portal)) throw new Error('lemonldap-ng is not installed')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const folder = t.testdirName
  t.testdir({
    ...{ sessions: { lock: {} }, persistent: { lock: {} }, cache: {} },
    'lemonldap-ng.ini': `[all]
[configuration]
type = File
dirName = ${folder}
localStorage = Cache::FileCache
localStorageOptions = { namespace => 'c', cache_root => '${folder}/cache', cache_depth => 1 }
[portal]
staticPrefix = /static
templateDir = ${portal}/templates
languages = en
`,
    'lmConf-1.json': JSON.stringify(configuration(folder, url, parties)),
  })
  const command = ['plackup', '--host', '127.0.0.1', '--port', String(port), `${portal}/htdocs/index.psgi`]
  const env = { LLNG_DEFAULTCONFFILE: join(folder, 'lemonldap-ng.ini') }
  await startProgram(t, command, port, { env, cwd: folder })
  const ready = await fetch(url)
  if (!ready.ok) throw new Error(`LemonLDAP::NG does not start: ${await ready.text()}`)
  return url
}

const storage = (name: string, Directory: string) => ({
  [name]: 'Apache::Session::File',
  [`${name}Options`]: { Directory, LockDirectory: `${Directory}/lock` },
})

/** What its manager writes. */
const configuration = (folder: string, url: string, { redirectUri, secret, metadata }: Parties) => ({
  ...{ cfgNum: 1, cfgDate: 1, portal: url, domain: '127.0.0.1', securedCookie: 0, requireToken: 0 },
  ...{ authentication: 'Demo', userDB: 'Same', demoExportedVars: { cn: 'cn', mail: 'mail', uid: 'uid' } },
  ...{ key: 'of a test', whatToTrace: 'uid', locationRules: { '127.0.0.1': { default: 'accept' } } },
  ...storage('globalStorage', `${folder}/sessions`),
  ...storage('persistentStorage', `${folder}/persistent`),

  issuerDBOpenIDConnectActivation: 1,
  oidcServicePrivateKeySig: idp.key,
  oidcServicePublicKeySig: createPublicKey(idp.certificate).export({ type: 'spki', format: 'pem' }),
  oidcServiceKeyIdSig: 'one',
  oidcRPMetaDataOptions: {
    bailiwick: {
      oidcRPMetaDataOptionsClientID: 'bailiwick',
      oidcRPMetaDataOptionsClientSecret: secret,
      oidcRPMetaDataOptionsRedirectUris: redirectUri,
      oidcRPMetaDataOptionsIDTokenSignAlg: 'RS256',
      oidcRPMetaDataOptionsBypassConsent: 1,
    },
  },
  oidcRPMetaDataExportedVars: { bailiwick: { email: 'mail', name: 'cn' } },

  issuerDBSAMLActivation: 1,
  samlServicePrivateKeySig: idp.key,
  samlServicePublicKeySig: idp.certificate,
  samlServiceSignatureMethod: 'RSA_SHA256',
  samlSPMetaDataXML: { bailiwick: { samlSPMetaDataXML: metadata } },
  samlSPMetaDataOptions: {
    bailiwick: {
      samlSPMetaDataOptionsNameIDFormat: 'persistent',
      samlSPMetaDataOptionsSignSSOMessage: 1,
      samlSPMetaDataOptionsCheckSSOMessageSignature: 0,
    },
  },
  samlSPMetaDataExportedAttributes: { bailiwick: { mail: '1;email;;' } },
})
