import { call } from '../api/client.ts'
import { AskAddress } from './ask-address.tsx'
import { texts } from './texts.ts'

/** Mails a link to choose a new password. The answer is the same whether the address has an account or not. */
export const Forgot = (shown: { email: string; onBack: () => void }) => (
  <AskAddress
    {...shown}
    words={texts.forgot}
    send={(email) => call('POST /auth/password/reset/', { body: { email } })}
  />
)
