import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t from 'tap'
import { gracefulClose } from '../../src/http/graceful-close.ts'

t.test(
  'an idle connection ends after the server stopped listening, so its client is not reset',
  async (t) => {
    const server = createServer((_request, response) => void response.end('ok'))
    const leaving = gracefulClose(server)
    const listened: boolean[] = []
    server.on('connection', (socket: Socket) => {
      const destroy = socket.destroy
      socket.destroy = (error?: Error) => {
        listened.push(server.listening)
        return destroy.call(socket, error)
      }
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(client, 'data')
    await Promise.all([once(client, 'end'), leaving.close()])
    t.equal(listened[0], false)
  },
)
