import { randomBytes } from 'node:crypto'
import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import { validationError } from '../../errors.ts'
import { userCodeUses } from '../../identity/rate-limits/limits.ts'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import { button, field, form, refusalOf } from '../../pages/sign-in/elements.ts'
import { page, type SignInPage } from '../../pages/sign-in/visit.ts'
import { html } from '../../text/html.ts'
import { readClientId } from '../clients/client-id.ts'
import { interactionSeconds } from '../provider.ts'
import { putModel } from '../store.ts'
import { deviceSeconds, nameOfRow } from './device-codes.ts'
import { findWaitingDevice } from './store.ts'
import { readUserCode, showUserCode, userCodeHashes } from './user-code.ts'

const reason = 'a code of a device names its tenant'

/**
 * Asks for the code that a device shows, and begins its request. A link with the code fills it in, and no more: the person
 * compares it. What the device wants is asked on the page of consent.
 */
export const devicePage = (deps: PageDeps): SignInPage => ({
  path: 'device',
  show(visit) {
    const { device } = visit.texts
    const { user_code: linked } = visit.http.query
    const code = readUserCode(typeof linked === 'string' ? linked : '')
    return page(
      device.title,
      html`<p>${code ? device.compare : device.lead}</p>
${refusalOf(visit, 'user_code')}${form(
  visit,
  'device',
  html`${field(visit, {
    name: 'user_code',
    label: device.label,
    autocomplete: 'off',
    more: html`autocapitalize="characters" spellcheck="false" maxlength="20"`,
    ...(code && { value: showUserCode(code) }),
    hint: device.hint,
  })}${button(visit.texts.continue)}`,
)}`,
    )
  },
  async submit(visit) {
    const { http, texts, prefix, form: fields } = visit
    const code = readUserCode(fields.user_code ?? '')
    const uses = userCodeUses(http.state.requestInfo.ip)
    await deps.limiters.take(uses)
    const at = deps.clock()
    const waiting = code
      ? await readAsSystem(deps.db, reason, (read) =>
          findWaitingDevice(read, userCodeHashes(deps.sealer, code), at - deviceSeconds * 1000),
        )
      : null
    if (!waiting)
      throw validationError({
        field: 'user_code',
        code: 'unknown',
        detail: 'No device waits with this code.',
      })
    await deps.limiters.giveBack(uses)
    const { clientId, params } = waiting.payload
    const client = readClientId(String(clientId))
    if (!client) throw new Error('A device waits for no client')
    const uid = randomBytes(24).toString('base64url')
    const path = `/oauth/device/${uid}`
    await asSystem(deps.db, reason, async (tx) =>
      putModel(tx, {
        kind: 'Interaction',
        id: uid,
        client,
        payload: {
          kind: 'Interaction',
          iat: Math.floor(at / 1000),
          // The library goes by its own clock. Ours ends the row.
          exp: Math.floor(Date.now() / 1000) + interactionSeconds,
          returnTo: `${deps.publicUrl()}${path}`,
          params,
          deviceCode: nameOfRow(waiting.id_hash),
        },
        at,
        expiresAt: at + interactionSeconds * 1000,
      }),
    )
    // The library asks for its cookie: another browser cannot go on with this request.
    http.cookies.secure = deps.publicUrl().startsWith('https:')
    http.cookies.set('bailiwick-resume', uid, {
      path: `${prefix}${path}`,
      httpOnly: true,
      sameSite: 'lax',
      maxAge: interactionSeconds * 1000,
    })
    return { kind: 'leave', to: path, title: texts.device.title }
  },
})
