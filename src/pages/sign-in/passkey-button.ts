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

/** A button for a passkey, which browser/passkey.js shows where the browser has them; null where the pages take none. */
export const passkeyForm = (
  deps: Deps,
  visit: Visit,
  path: 'passkey' | 'code/passkey' | 'step-up/passkey',
): Html | null =>
  takesPasskeys(deps)
    ? form(
        visit,
        path,
        html`<input type="hidden" name="credential" value="">
${button(path === 'passkey' ? visit.texts.passkey.signIn : visit.texts.passkey.show, { quiet: true })}
<p class="hint" role="status"></p>`,
        {
          more: html` data-passkey="${pageUrl({ ...visit, returnTo: null }, `${path}/options`)}" data-failed="${visit.texts.passkey.failed}" hidden`,
        },
      )
    : null
