import { createHash } from 'node:crypto'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Context, Middleware } from 'koa'

/** A file that never changes, served from memory. */
export interface Asset {
  path: string
  /** The path with a version of the content in its query. Its content never changes, so browsers can cache it forever. */
  href: string
  serve: Middleware
}

/**
 * Makes an asset from its bytes. The extension of the path gives the media type. `immutable`: the path itself contains a
 * version of the content.
 */
export function asset(path: string, body: Buffer, { immutable = false } = {}): Asset {
  const version = createHash('sha256').update(body).digest('base64url').slice(0, 16)
  const compressed = compressor(body)
  const serve: Middleware = async (ctx) => {
    ctx.status = 200
    ctx.type = extname(path)
    ctx.etag = `W/"${version}"`
    ctx.set(
      'Cache-Control',
      immutable || ctx.query.v === version ? 'public, max-age=31536000, immutable' : 'no-cache',
    )
    ctx.vary('Accept-Encoding')
    if (ctx.fresh) ctx.status = 304
    else if (!wantsGzip(ctx, body)) ctx.body = body
    else {
      ctx.set('Content-Encoding', 'gzip')
      ctx.body = await compressed()
    }
  }
  return { path, href: `${path}?v=${version}`, serve }
}

const wantsGzip = (ctx: Context, body: Buffer) =>
  body.length > 1_024 && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'

/** Compresses at the first request, and caches the result. */
function compressor(body: Buffer): () => Promise<Buffer> {
  let result: Promise<Buffer> | undefined
  return () => {
    result ??= promisify(gzip)(body)
    return result
  }
}
