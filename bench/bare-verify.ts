import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { createPasswordHasher } from '../src/crypto/passwords.ts'

// The lower bound for a login: an endpoint that only verifies a password, with the service's own hasher and its limit on
// concurrent hashes.

const passwords = await createPasswordHasher()
const phc = await passwords.hash('a quiet harbour')

createServer(async (request, response) => {
  if (request.method === 'GET') return response.end()
  const { password } = JSON.parse(await text(request))
  response.statusCode = (await passwords.verify(phc, password)) ? 200 : 401
  response.setHeader('content-type', 'application/json')
  response.end('{"ok":true}')
}).listen(Number(process.env.PORT), process.env.HOST)

process.on('SIGTERM', () => process.exit(0))
