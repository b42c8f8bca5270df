import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import { ApiError } from '../errors.ts'

const maxDepth = 32
const tooLarge = (limit: number) =>
  new ApiError(413, 'payload_too_large', `The body can have ${limit} bytes at most.`)
const parseError = (detail: string) => new ApiError(400, 'parse_error', detail)

/** Makes a reader of JSON bodies of at most `limit` bytes. An empty body is `{}`. */
export function bodyReader(limit: number): (ctx: Context) => Promise<unknown> {
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
    if (ctx.get('content-type') !== '' && !isJson(ctx)) throw unsupported(sendJson)
    if ((ctx.request.length ?? 0) > limit) throw tooLarge(limit)
    ctx.req.headers['content-type'] ||= 'application/octet-stream' // without a type koa-body would not read it
    await read(ctx, async () => {})
    const bytes = bodyBytes(ctx)
    if (bytes.length > 0 && !isJson(ctx)) throw unsupported(sendJson)
    return parse(bytes)
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

/** True when the request has a body. */
const hasBody = (ctx: Context): boolean =>
  ctx.get('transfer-encoding') !== '' || (ctx.request.length ?? 0) > 0

function parse(bytes: Buffer): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw parseError('The body is not valid UTF-8.')
  }
  return parseText(text)
}

/** The value of a JSON body; `{}` for an empty one. Throws 400 `parse_error`. */
export function parseText(text: string): unknown {
  if (text.trim() === '') return {}
  if (nesting(text) > maxDepth) throw parseError(`The body can be nested ${maxDepth} levels deep at most.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw parseError('The body is not valid JSON.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw parseError('The body must be a JSON object.')
  if (!isWellFormed(value)) throw parseError('Text must not contain NUL or lone surrogates.')
  return value
}

/** Depth of brackets outside strings, counted before parsing. */
function nesting(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (inString) {
      if (c === 0x5c) i++
      else if (c === 0x22) inString = false
    } else if (c === 0x22) inString = true
    else if (c === 0x7b || c === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (c === 0x7d || c === 0x5d) depth--
  }
  return deepest
}

/** Postgres cannot store NUL, and the policy engine aborts on lone surrogates, so both are refused here. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, item]) => isWellFormed(key) && isWellFormed(item))
}
