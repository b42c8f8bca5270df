import { once } from 'node:events'
import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'
import { freePort } from './stage.ts'

/** A received mail: the recipients of the envelope and the raw message. */
export interface Received {
  to: string[]
  from: string
  raw: string
}

/**
 * A real mail server on 127.0.0.1 that starts and stops on one port; `answer` can refuse a message. It accepts STARTTLS
 * when it has a certificate (PEM).
 */
export async function mailServer(t: Test, certificate?: { key: string; cert: string }) {
  const port = await freePort()
  const received: Received[] = []
  let server: SMTPServer | undefined
  const hub = {
    port,
    url: `smtp://127.0.0.1:${port}`,
    received,
    /** For each message, whether it came over TLS. */
    secured: [] as boolean[],
    answer: (_mail: Received): Error | null | Promise<null> => null,
    async start() {
      server = new SMTPServer({
        disabledCommands: certificate ? ['AUTH'] : ['AUTH', 'STARTTLS'],
        ...certificate,
        closeTimeout: 10,
        onData(stream, session, done) {
          const parts: Buffer[] = []
          stream.on('data', (part) => parts.push(part))
          stream.on('end', () => {
            const { mailFrom, rcptTo } = session.envelope
            const to = rcptTo.map((recipient) => recipient.address)
            const mail = { to, from: mailFrom ? mailFrom.address : '', raw: Buffer.concat(parts).toString() }
            received.push(mail)
            hub.secured.push(session.secure)
            Promise.resolve(hub.answer(mail)).then(done, done)
          })
        },
      })
      server.on('error', () => undefined)
      server.listen(port, '127.0.0.1')
      await once(server.server, 'listening')
    },
    async stop() {
      if (server) await new Promise<void>((done) => server!.close(done))
      server = undefined
    },
  }
  t.teardown(() => hub.stop())
  return hub
}

/** The value of one header of a raw message. */
export const header = (raw: string, name: string) =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(raw.replace(/\r\n[ \t]+/g, ' '))?.[1]?.trim()
