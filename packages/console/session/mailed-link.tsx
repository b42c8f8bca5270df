import { call } from '../api/client.ts'
import { AskAddress } from './ask-address.tsx'
import { keepNonce } from './storage.ts'
import { texts } from './texts.ts'

/** Whether the installation mails links that lead back to the console. */
export const canMailLinks = (): boolean => document.documentElement.dataset.magicLink === 'true'

/**
 * Mails a link to sign in. It works with the nonce of the answer only, which its page finds in the storage of this
 * browser. That page signs the console in, and this tab follows.
 */
export const MailedLink = (shown: { email: string; onBack: () => void }) => (
  <AskAddress
    {...shown}
    words={texts.mailedLink}
    send={async (email) => {
      const { nonce } = await call('POST /auth/magic-link/', { body: { email } })
      keepNonce(nonce)
    }}
  />
)
