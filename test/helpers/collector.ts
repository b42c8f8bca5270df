import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

type Value = string | number | boolean | undefined | Value[]

/** A span as the collector received it. Ids are hexadecimal; `kind` is 2 for server, 3 for client, 5 for consumer. */
export interface ReceivedSpan {
  service: Value
  traceId: string
  spanId: string
  parentId: string
  name: string
  kind: number
  attributes: Record<string, Value>
  events: { name: string; attributes: Record<string, Value> }[]
  /** 2 for an error. */
  status: number
}

/** A collector on 127.0.0.1 that receives OTLP over HTTP and stores the spans. */
export async function startCollector(t: Test) {
  const collector = {
    url: '',
    bytes: [] as Buffer[],
    requests: [] as { url: string; headers: IncomingHttpHeaders }[],
    spans: [] as ReceivedSpan[],
    answer: (response: ServerResponse): void => void response.writeHead(200).end(),
    /** Waits for the span for which `wanted` is true. */
    async span(wanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
      for (let tries = 0; tries < 6_000; tries++) {
        const found = collector.spans.find(wanted)
        if (found) return found
        await sleep(50)
      }
      throw new Error(`No such span among ${collector.spans.map(({ name }) => name).join(', ')}`)
    },
  }
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const body = Buffer.concat(parts)
    collector.requests.push({ url: request.url ?? '', headers: request.headers })
    collector.bytes.push(body)
    collector.spans.push(...spansIn(body))
    collector.answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return collector
}

/** The fields of a protobuf message by number: bytes for fields with a length, otherwise a number. */
function fieldsOf(bytes: Buffer): Map<number, (Buffer | number)[]> {
  const fields = new Map<number, (Buffer | number)[]>()
  let at = 0
  const varint = () => {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++]!
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }
  const taken = (length: number) => {
    at += length
    return bytes.subarray(at - length, at)
  }
  const read: Record<number, () => Buffer | number> = {
    0: varint,
    1: () => taken(8),
    2: () => taken(varint()),
    5: () => taken(4),
  }
  while (at < bytes.length) {
    const tag = varint()
    const number = Math.floor(tag / 8)
    fields.set(number, [...(fields.get(number) ?? []), read[tag % 8]!()])
  }
  return fields
}

const messages = (fields: Map<number, (Buffer | number)[]>, number: number) =>
  (fields.get(number) ?? []).map((bytes) => fieldsOf(bytes as Buffer))
const textOf = (fields: Map<number, (Buffer | number)[]>, number: number) =>
  (fields.get(number)?.[0] as Buffer | undefined)?.toString() ?? ''
const hexOf = (fields: Map<number, (Buffer | number)[]>, number: number) =>
  (fields.get(number)?.[0] as Buffer | undefined)?.toString('hex') ?? ''

/** opentelemetry/proto/common/v1: AnyValue. */
function anyValueOf(fields: Map<number, (Buffer | number)[]>): Value {
  if (fields.has(1)) return textOf(fields, 1)
  if (fields.has(5)) return messages(messages(fields, 5)[0]!, 1).map(anyValueOf)
  return (fields.get(2) ?? fields.get(3))?.[0] as number | undefined
}

const attributesOf = (fields: Map<number, (Buffer | number)[]>, number: number) =>
  Object.fromEntries(
    messages(fields, number).map((pair) => [textOf(pair, 1), anyValueOf(messages(pair, 2)[0] ?? new Map())]),
  )

/** opentelemetry/proto/trace/v1: resource_spans, scope_spans, spans. */
function spansIn(body: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((ofResource) => {
    const service = attributesOf(messages(ofResource, 1)[0]!, 1)['service.name']
    const spans = messages(ofResource, 2).flatMap((ofScope) => messages(ofScope, 2))
    return spans.map((span) => ({
      service,
      traceId: hexOf(span, 1),
      spanId: hexOf(span, 2),
      parentId: hexOf(span, 4),
      name: textOf(span, 5),
      kind: Number(span.get(6)?.[0]),
      attributes: attributesOf(span, 9),
      events: messages(span, 11).map((event) => ({
        name: textOf(event, 2),
        attributes: attributesOf(event, 3),
      })),
      status: Number(messages(span, 15)[0]?.get(3)?.[0] ?? 0),
    }))
  })
}
