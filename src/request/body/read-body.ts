import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import { ApiError } from '../../errors.ts'
import { createLoopTurns } from '../../limits/loop-turns.ts'
import { jsonFault, skipBlank } from '../../text/json-fault.ts'
import { positionAt } from '../../text/text-position.ts'

/** The longest body of a caller without a token, and of a sign-in. */
export const smallBody = 16 * 1024
const maxDepth = 32
const stepLength = 1024 * 1024
// Many short names take the longest to parse: as many as these 20 ms, those of a full MiB 200 ms.
const maxValues = 20_000
const tooLarge = (limit: number, what = 'bytes') =>
  new ApiError(413, 'payload_too_large', `The body can have ${limit} ${what} at most.`)

/** 400. With the text, it also says where in it. */
function parseError(detail: string, text?: string, offset = 0): ApiError {
  if (text === undefined) return new ApiError(400, 'parse_error', detail)
  const { line, column } = positionAt(text, offset)
  const sentence = `${detail} See line ${line}, column ${column}.`
  return new ApiError(400, 'parse_error', sentence, { members: { line, column } })
}

/** A body that is a file of one of these media types. A route takes it as `{[as]: {media_type, content}}`, in base64. */
export interface FileBody {
  as: string
  mediaTypes: readonly string[]
  maxBytes: number
}

/** Makes a reader of bodies of at most `limit` bytes: JSON, or a file. An empty body is `{}`. */
export function bodyReader(limit: number, file?: FileBody): (ctx: Context) => Promise<unknown> {
  const isFit = file ? (ctx: Context) => ctx.is([...file.mediaTypes]) !== false : isJson
  const sendIt = file ? `Send the file itself: Content-Type: ${file.mediaTypes.join(' or ')}.` : sendJson
  // latin1 keeps each byte as one character, so that parse() can validate the UTF-8.
  const read = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['*/*'],
    textLimit: limit,
    encoding: 'latin1',
    parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
    onError: (error, ctx) => {
      // The reader stopped early. Without draining the rest, the connection would neither end nor serve another
      // request.
      ctx.req.resume()
      throw (error as { type?: string }).type === 'entity.too.large'
        ? tooLarge(limit)
        : parseError('The body could not be read.')
    },
  })
  return async (ctx) => {
    if (!hasBody(ctx)) return {}
    if (!/^(identity)?$/i.test(ctx.get('content-encoding'))) throw unsupported('Send the body uncompressed.')
    if (ctx.get('content-type') !== '' && !isFit(ctx)) throw unsupported(sendIt)
    if ((ctx.request.length ?? 0) > limit) throw tooLarge(limit)
    ctx.req.headers['content-type'] ||= 'application/octet-stream' // without a type koa-body would not read it
    await read(ctx, async () => {})
    const bytes = bodyBytes(ctx)
    if (bytes.length > 0 && !isFit(ctx)) throw unsupported(sendIt)
    if (file && bytes.length > 0)
      return { [file.as]: { media_type: ctx.request.type, content: bytes.toString('base64') } }
    return bytes.length > smallBody ? parseInTurns(bytes) : parsedBy(parsing(bytes))
  }
}

/** Long bodies that arrive together are parsed one after the other, and other requests come in between. */
const longBodyTurn = createLoopTurns()

/** Each step has a turn of the event loop, and so has what comes after the last one: the value is validated. */
async function parseInTurns(bytes: Buffer): Promise<unknown> {
  const steps = parsing(bytes)
  for (;;) {
    await longBodyTurn()
    const { done, value } = steps.next()
    if (!done) continue
    await longBodyTurn()
    return value
  }
}

function parsedBy(steps: Generator<void, unknown, void>): unknown {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

const unsupported = (detail: string) => new ApiError(415, 'unsupported_media_type', detail)
const sendJson = 'Send JSON: Content-Type: application/json, in UTF-8.'

/** Refuses other `+json` types, because they are different formats, such as JSON Patch. */
const isJson = (ctx: Context) =>
  ctx.is('application/json') === 'application/json' && /^(utf-8)?$/i.test(ctx.request.charset)

const bodyBytes = (ctx: Context) => Buffer.from(String(ctx.request.body ?? ''), 'latin1')

/** The text of a body that was read and is valid UTF-8; empty when there was no body. */
export const bodyText = (ctx: Context): string => bodyBytes(ctx).toString()

/** The bytes of the body that was read. */
export const bodyLength = (ctx: Context): number => String(ctx.request.body ?? '').length

/** True when the request has a body. */
const hasBody = (ctx: Context): boolean =>
  ctx.get('transfer-encoding') !== '' || (ctx.request.length ?? 0) > 0

/** The value of a JSON body; `{}` for an empty one. Throws 400 `parse_error`, and 413 for too many values. */
export const parseText = (text: string): unknown => parsedBy(parsing(text))

/**
 * The steps of parsing a body. Each takes 10 ms at most for a MiB of it, and looking for its extent has a step for each
 * MiB.
 */
function* parsing(body: Buffer | string): Generator<void, unknown, void> {
  const text = typeof body === 'string' ? body : decoded(body)
  if (text.trim() === '') return {}
  const { tooDeepAt, values } = yield* extentOf(text)
  if (tooDeepAt !== null)
    throw parseError(`The body can be nested ${maxDepth} levels deep at most.`, text, tooDeepAt)
  if (values > maxValues) throw tooLarge(maxValues, 'values')
  yield
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    yield
    throw parseError('The body is not valid JSON.', text, jsonFault(text) ?? 0)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw parseError('The body must be a JSON object.', text, skipBlank(text, 0))
  yield
  const illFormed = illFormedEscape(text)
  if (illFormed !== null) throw parseError('Text must not contain NUL or lone surrogates.', text, illFormed)
  return value
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    const start = validStart(bytes)
    throw parseError('The body is not valid UTF-8.', start, start.length)
  }
}

/** The text before the first bytes that are not UTF-8. */
function validStart(bytes: Buffer): string {
  const replaced = Buffer.from(bytes.toString())
  const at = bytes.findIndex((byte, index) => byte !== replaced[index])
  return bytes.subarray(0, at).toString()
}

/**
 * Where brackets are nested too deeply (null: nowhere), and the number of values, by commas and brackets outside strings:
 * counted before parsing.
 */
function* extentOf(text: string): Generator<void, { tooDeepAt: number | null; values: number }, void> {
  let open = 0
  let tooDeepAt: number | null = null
  let values = 1
  let inString = false
  let pauseAt = stepLength
  for (let i = 0; i < text.length; i++) {
    if (i >= pauseAt) {
      pauseAt += stepLength
      yield
    }
    const c = text.charCodeAt(i)
    if (inString) {
      if (c === 0x5c) i++
      else if (c === 0x22) inString = false
    } else if (c === 0x22) inString = true
    else if (c === 0x2c) values++
    else if (c === 0x7b || c === 0x5b) {
      values++
      if (++open > maxDepth) tooDeepAt ??= i
    } else if (c === 0x7d || c === 0x5d) open--
  }
  return { tooDeepAt, values }
}

/**
 * Where a text of valid JSON has NUL or a lone surrogate (null: nowhere): Postgres cannot store NUL, and the policy
 * engine aborts on lone surrogates. Only escapes can name them: raw, UTF-8 has no surrogates and JSON no NUL.
 */
function illFormedEscape(text: string): number | null {
  for (let at = text.indexOf('\\'), end = 0; at !== -1; at = text.indexOf('\\', end)) {
    end = at + 2
    if (text[at + 1] !== 'u') continue
    const unit = escapedAt(text, at)
    if (unit === 0) return at
    if (unit < 0xd800 || unit > 0xdfff) continue
    const isPair = unit < 0xdc00 && text.startsWith('\\u', at + 6) && escapedAt(text, at + 6) >> 10 === 0x37
    if (!isPair) return at
    end = at + 12
  }
  return null
}

/** The code unit of an escape such as `\u0041`. */
const escapedAt = (text: string, at: number) => Number.parseInt(text.slice(at + 2, at + 6), 16)
