import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Test } from 'tap'

const txt = 16
const noSuchName = 3

/** A DNS server with TXT records alone, on this machine. */
export interface DnsServer {
  /** host:port, as DNS_RESOLVERS has it. */
  address: string
  /** The values at each name. */
  records: Map<string, string[]>
  /** A broken one answers SERVFAIL. */
  isBroken: boolean
  /** The names that it was asked for. */
  asked: string[]
}

/** Starts a DNS server (RFC 1035), which ends with the test. */
export async function startDns(t: Pick<Test, 'teardown'>): Promise<DnsServer> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const server: DnsServer = {
    address: `127.0.0.1:${socket.address().port}`,
    records: new Map(),
    isBroken: false,
    asked: [],
  }
  socket.on('message', (query, { port, address }) => socket.send(answerTo(query, server), port, address))
  t.teardown(() => new Promise<void>((done) => socket.close(() => done())))
  return server
}

function answerTo(query: Buffer, { records, isBroken, asked }: DnsServer): Buffer {
  const { name, end } = questionIn(query)
  asked.push(name)
  const found = isBroken ? [] : (records.get(name.toLowerCase()) ?? [])
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  const code = isBroken ? 2 : found.length === 0 ? noSuchName : 0
  header.writeUInt16BE(0x8580 + code, 2) // an authoritative answer, recursion available
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(found.length, 6)
  return Buffer.concat([header, query.subarray(12, end), ...found.map(record)])
}

function questionIn(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 5 }
}

/** A TXT record of the name in the question. Its value is cut into strings, as long values have to be. */
function record(value: string): Buffer {
  const parts = value.match(/.{1,20}/g) ?? ['']
  const data = Buffer.concat(parts.map((part) => Buffer.from([part.length, ...Buffer.from(part)])))
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(txt, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(60, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
