import type { Context } from 'koa'
import { ApiError } from '../../errors.ts'

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
