import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { idp } from '../federation/saml/certificates.ts'
import { freePort, startProgram } from './programs.ts'

const installed = '/usr/share/simplesamlphp/www'

/**
 * SimpleSAMLphp of Debian as identity provider, with the person ada. It knows the service provider of which `metadata` is the
 * XML. Gives its URL. Throws where it is not installed.
 */
export async function startSimpleSaml(t: Test, metadata: string): Promise<string> {
  if (!existsSync(installed)) throw new Error('simplesamlphp and php-cli are not installed')
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const folder = t.testdir({
    'config.php': `<?php $config = [
      'baseurlpath' => '${url}/', 'certdir' => __DIR__, 'loggingdir' => __DIR__, 'datadir' => __DIR__, 'tempdir' => __DIR__,
      'secretsalt' => 'of a test', 'auth.adminpassword' => 'of a test', 'timezone' => 'UTC', 'logging.handler' => 'errorlog',
      'technicalcontact_name' => 't', 'technicalcontact_email' => 't@example.com', 'enable.saml20-idp' => true,
      'module.enable' => ['core' => true, 'saml' => true, 'exampleauth' => true], 'store.type' => 'phpsession',
      'session.cookie.secure' => false, 'session.phpsession.savepath' => __DIR__, 'metadatadir' => __DIR__,
      'metadata.sources' => [['type' => 'flatfile'], ['type' => 'xml', 'file' => __DIR__ . '/sp.xml']],
    ];`,
    'authsources.php': `<?php $config = ['example' => ['exampleauth:UserPass',
      'ada:correct' => ['uid' => ['ada-7f3'], 'employeeId' => ['ada-7f3'], 'mail' => ['ada@example.com'], 'givenName' => ['Ada'], 'sn' => ['Lovelace']],
    ]];`,
    'saml20-idp-hosted.php': `<?php $metadata['${url}/idp'] = [
      'host' => '__DEFAULT__', 'privatekey' => 'idp.pem', 'certificate' => 'idp.crt', 'auth' => 'example',
      'authproc' => [3 => ['class' => 'saml:AttributeNameID', 'attribute' => 'uid',
        'Format' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent']],
    ];`,
    'sp.xml': metadata,
    'idp.pem': idp.key,
    'idp.crt': idp.certificate,
  })
  const env = { SIMPLESAMLPHP_CONFIG_DIR: folder }
  await startProgram(t, ['php', '-S', `127.0.0.1:${port}`, '-t', installed], port, { env, cwd: join(folder) })
  return url
}
