import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { freePort } from '../../bench/stage.ts'
import type { Ends } from './stage.ts'

/** How the webhook receiver answers. `stall`: not at all. `lie`: 200 with a body that never ends. */
export type Behaviour = 'accept' | 'refuse' | 'stall' | 'lie' | 'redirect'

/** What arrived at the receiver, by tenant: the sequence of each delivery, in order of arrival. */
export interface Receiver {
  url: string
  behaviour: Behaviour
  arrived: Map<string, number[]>
}

/** The mail server of the run: each accepted mail, as `<address> <subject>`. */
export interface MailServer {
  port: number
  taken: string[]
  stop(): Promise<void>
  start(): Promise<void>
}

/** A webhook receiver on 127.0.0.1. */
export async function startReceiver(ends: Ends): Promise<Receiver> {
  const receiver: Receiver = { url: '', behaviour: 'accept', arrived: new Map() }
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => null)
    if (!body) return response.destroy()
    const behaviour = request.url?.startsWith('/stall') ? 'stall' : receiver.behaviour
    if (behaviour === 'stall') return
    if (behaviour === 'refuse') return response.writeHead(500).end()
    if (behaviour === 'redirect') return response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    const { sequence, tenantid } = JSON.parse(body.toString())
    // A test of a webhook has no sequence.
    if (typeof sequence === 'number')
      receiver.arrived.set(tenantid, [...(receiver.arrived.get(tenantid) ?? []), sequence])
    response.writeHead(200)
    if (behaviour === 'lie') return response.write('x'.repeat(1_000_000))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  receiver.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return receiver
}

/** A mail server on 127.0.0.1, which keeps its port when it stops and starts. */
export async function startMailServer(ends: Ends): Promise<MailServer> {
  const taken: string[] = []
  const port = await freePort()
  let server: SMTPServer
  const start = async () => {
    server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData(stream, session, done) {
        // A worker that is killed leaves half a mail.
        buffer(stream).then((mail) => {
          const subject = /^Subject: (.*)$/m.exec(mail.toString())?.[1]?.trim()
          for (const { address } of session.envelope.rcptTo) taken.push(`${address} ${subject}`)
          done()
        }, done)
      },
    })
    server.on('error', () => undefined)
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  }
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()))
  ends.push(stop)
  await start()
  return { port, taken, start, stop }
}
