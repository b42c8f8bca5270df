import { emptyQuestion, type Question } from './question.ts'

/** What a link carries: a draft, and a question to it. `policy` is the stored one in whose place it stands. */
export interface Shared {
  policy?: string
  text: string
  question: Question
}

// A document has 16 KiB at most. A link that unpacks to more was not made here.
const maxBytes = 200_000

const through = (bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream) =>
  new Blob([bytes]).stream().pipeThrough(stream)

/** The fragment of a link. Browsers never send a fragment to a server, so the draft stays between the two people. */
export async function packed(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(shared))
  const small = new Uint8Array(
    await new Response(through(bytes, new CompressionStream('deflate-raw'))).arrayBuffer(),
  )
  const letters = Array.from(small, (byte) => String.fromCharCode(byte)).join('')
  return `d=${btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`
}

/** What a fragment carries; null if it is none of ours. */
export async function unpacked(fragment: string): Promise<Shared | null> {
  const code = /^#?d=([\w-]+)$/.exec(fragment)?.[1]
  if (!code) return null
  try {
    const letters = atob(code.replaceAll('-', '+').replaceAll('_', '/'))
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0))
    return checked(JSON.parse(await readAtMost(through(bytes, new DecompressionStream('deflate-raw')))))
  } catch {
    return null
  }
}

async function readAtMost(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  let [text, length] = ['', 0]
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    length += value.length
    if (length > maxBytes) throw new Error('This link is too large')
    text += decoder.decode(value, { stream: true })
  }
}

function checked(value: unknown): Shared | null {
  const { policy, text, question } = (value ?? {}) as Partial<Shared>
  if (typeof text !== 'string') return null
  const fields = Object.entries(emptyQuestion).map(([name]) => {
    const given = (question as Record<string, unknown> | undefined)?.[name]
    return [name, typeof given === 'string' ? given : '']
  })
  return {
    text,
    question: Object.fromEntries(fields) as unknown as Question,
    ...(typeof policy === 'string' && /^[\da-f-]{36}$/.test(policy) && { policy }),
  }
}
