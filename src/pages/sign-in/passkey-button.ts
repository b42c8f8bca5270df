import type { Deps } from '../../deps.ts'
import { relyingParty } from '../../identity/passkeys/relying-party.ts'
import { browserUrl } from '../../settings/loopback.ts'
import { type Html, html } from '../../text/html.ts'
import { button, form, pageUrl } from './elements.ts'
import type { Visit } from './visit.ts'

/** Whether a browser can use passkeys on these pages: they are on, and belong to this origin. */
const takesPasskeys = (deps: Deps): boolean =>
  deps.config.PASSKEYS_ENABLED &&
  relyingParty(deps).origins.includes(new URL(browserUrl(deps.publicUrl())).origin)

interface Ceremony {
  /** Of the page that takes the credential. Its options are below it. */
  path: string
  words: string
  /** Whether the browser makes a new passkey. */
  isNew?: boolean
  /** Whether the page offers nothing else. */
  isOnly?: boolean
  /** Hidden fields. One with `data-from` gets the value of the field with that id. */
  fields?: Html | null
}

/** A button for a passkey, which browser/passkey.js shows where the browser has them; null where the pages take none. */
export const passkeyForm = (
  deps: Deps,
  visit: Visit,
  { path, words, isNew = false, isOnly = false, fields = null }: Ceremony,
): Html | null =>
  takesPasskeys(deps)
    ? form(
        visit,
        path,
        html`<input type="hidden" name="credential" value="">
${fields}${button(words, { quiet: !isOnly })}
<p class="hint" role="status"></p>`,
        {
          more: html` data-passkey="${pageUrl({ ...visit, returnTo: null }, `${path}/options`)}"${isNew ? html` data-new=""` : null} data-failed="${visit.texts.passkey.failed}" hidden`,
        },
      )
    : null

/** Says that passkeys need a script, where nothing else is offered. */
export const needsScript = ({ texts }: Visit): Html =>
  html`<noscript><p class="alert">${texts.passkey.noScript}</p></noscript>`
