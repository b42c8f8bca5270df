import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import { ApiError } from '../../errors.ts'
import { smallBody } from '../../request/body/read-body.ts'

/** Makes a reader of forms of at most `limit` bytes. It throws 413; 415 for another type; 400 for a field that was sent twice. */
export function formReader(limit: number): (http: Context) => Promise<Record<string, string>> {
  const tooLarge = () => new ApiError(413, 'payload_too_large', `The form can have ${limit} bytes at most.`)
  const read = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: ['application/x-www-form-urlencoded'],
    textLimit: limit,
    onError: (_error, ctx) => {
      ctx.req.resume() // else the connection would neither end nor serve another request
      throw tooLarge()
    },
  })
  return async (http) => {
    if (!http.is('application/x-www-form-urlencoded'))
      throw new ApiError(415, 'unsupported_media_type', 'Send a form: application/x-www-form-urlencoded.')
    if ((http.request.length ?? 0) > limit) throw tooLarge()
    await read(http, async () => {})
    const pairs = [...new URLSearchParams(String(http.request.body ?? ''))]
    const fields = Object.fromEntries(pairs)
    if (Object.keys(fields).length < pairs.length)
      throw new ApiError(400, 'parse_error', 'A field of the form was sent twice.')
    return fields
  }
}

/** The fields of a form of our own pages. */
export const readForm = formReader(smallBody)

/**
 * Throws 403 `cross_site_request` for a form that a page of another site sent, by the browser's word: `Sec-Fetch-Site`, or
 * `Origin` where that is absent (plain http). `publicUrl` names the origin.
 */
export function refuseForeignForms(publicUrl: () => string, http: Context): void {
  const site = http.get('sec-fetch-site')
  const origin = http.get('origin')
  const isOwn = site === '' ? origin === new URL(publicUrl()).origin : site === 'same-origin'
  if (!isOwn)
    throw new ApiError(403, 'cross_site_request', 'These forms are taken from their own pages only.')
}
