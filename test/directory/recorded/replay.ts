import type { Test } from 'tap'
import type { Directory } from '../open-directory.ts'

/**
 * A request, its body, the status of the answer and what is in its body; `undefined` is absent. The last member keeps the id of the answer,
 * or of its first resource, for later steps, which write `{name}`. `{domain}` is that of the tenant.
 */
type Step = readonly [
  request: string,
  body: object | null,
  status: number,
  answer?: object | undefined,
  keeps?: string,
]

export interface Sequence {
  name: string
  steps: readonly Step[]
}

/** Sends the requests of a sequence one after the other, and checks the answers. */
export async function replay(t: Test, directory: Directory, domain: string, { steps }: Sequence) {
  const known: Record<string, string> = { domain }
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (all, name) => known[name] ?? all)
  for (const [request, body, status, expected = {}, keeps] of steps) {
    const [method = '', path = ''] = fill(request).split(/ (.*)/s)
    const sent = body === null ? undefined : JSON.parse(fill(JSON.stringify(body)))
    const answer = await directory.call(method, encodeURI(path), sent)
    const about = `${request} ${JSON.stringify(body)} ${JSON.stringify(answer.body)}`.slice(0, 600)
    t.equal(answer.status, status, about)
    const filled = fillAll(expected, fill)
    if (answer.body !== null) t.match(answer.body, filled, about)
    const found = answer.body?.id ?? answer.body?.Resources?.[0]?.id
    if (keeps) known[keeps] = found
  }
}

function fillAll(value: unknown, fill: (text: string) => string): unknown {
  if (typeof value === 'string') return fill(value)
  if (Array.isArray(value)) return value.map((item) => fillAll(item, fill))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, fillAll(member, fill)]))
}
