import type { Middleware } from 'koa'
import { isUuid, nilUuid } from '../../crypto/uuid.ts'
import { readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { accentInDark } from '../../messages/mail/brand.ts'
import type { Served } from '../../request/registry.ts'
import { findLogo } from '../../tenancy/tenants/brand-store.ts'

const forever = 'public, max-age=31536000, immutable'

/** The address of the style sheet of an accent. It has nothing of a tenant but the six digits of a colour. */
export const accentPath = (accent: string): string => `/sign-in/look/accent/${accent.slice(1)}.css`

/** What the pages of a tenant load, beside the files of all pages. Public, without a cookie. */
export const lookFiles = (deps: Pick<Deps, 'db'>): Served[] => [
  { method: 'GET', path: '/sign-in/look/accent/:file', handle: serveAccent },
  { method: 'GET', path: '/sign-in/look/logo/:tenant_id/:file', handle: logoServer(deps) },
]

const serveAccent: Middleware = (http) => {
  const accent = /^([0-9a-f]{6})\.css$/.exec(http.params.file)?.[1]
  if (!accent) return notThere(http)
  http.set('Cache-Control', forever)
  http.type = 'css'
  http.body = `:root{--brand:#${accent};--brand-dark:${accentInDark(`#${accent}`)}}`
}

/**
 * A logo is a file that a stranger made, so it can do nothing as a document of this origin. Web mail shows it in pages of other
 * origins. The address of an earlier logo, such as in an old mail, leads to the present one.
 */
const logoServer =
  ({ db }: Pick<Deps, 'db'>): Middleware =>
  async (http) => {
    const tenantId = http.params.tenant_id.toLowerCase()
    const scope = { tenantId, userId: nilUuid }
    const logo = isUuid(tenantId) ? await readInTenant(db, scope, (read) => findLogo(read, tenantId)) : null
    if (!logo) return notThere(http)
    http.set({
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'Cache-Control': http.params.file === logo.file ? forever : 'public, max-age=300',
    })
    if (http.params.file === logo.file) {
      http.type = logo.file.endsWith('.png') ? 'image/png' : 'image/webp'
      http.body = logo.content
    } else {
      http.status = 302
      http.set('Location', logo.file)
    }
  }

function notThere(http: Parameters<Middleware>[0]): void {
  http.status = 404
  http.set('Cache-Control', 'no-store')
  http.type = 'text'
  http.body = 'There is no such file.\n'
}
