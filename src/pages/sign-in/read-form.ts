import type { Context } from 'koa'
import { koaBody } from 'koa-body'
import { ApiError } from '../../errors.ts'
import { smallBody } from '../../request/body/read-body.ts'

const tooLarge = () => new ApiError(413, 'payload_too_large', `The form can have ${smallBody} bytes at most.`)

const read = koaBody({
  json: false,
  urlencoded: false,
  multipart: false,
  text: true,
  textTypes: ['application/x-www-form-urlencoded'],
  textLimit: smallBody,
  onError: (_error, ctx) => {
    ctx.req.resume() // else the connection would neither end nor serve another request
    throw tooLarge()
  },
})

/** The fields of a form. Throws 413; 415 for another type; 400 for a field that was sent twice. */
export async function readForm(http: Context): Promise<Record<string, string>> {
  if (!http.is('application/x-www-form-urlencoded'))
    throw new ApiError(415, 'unsupported_media_type', 'Send a form: application/x-www-form-urlencoded.')
  if ((http.request.length ?? 0) > smallBody) throw tooLarge()
  await read(http, async () => {})
  const pairs = [...new URLSearchParams(String(http.request.body ?? ''))]
  const fields = Object.fromEntries(pairs)
  if (Object.keys(fields).length < pairs.length)
    throw new ApiError(400, 'parse_error', 'A field of the form was sent twice.')
  return fields
}
