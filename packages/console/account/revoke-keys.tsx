import { CheckField } from '../parts/field.tsx'
import { texts } from './texts.ts'

const { revokeKeys: words } = texts

/** The choice to revoke one's API keys, too, in the form of what throws others out of the account. */
export const RevokeKeys = () => <CheckField name="revoke_keys" label={words.label} hint={words.about} />

/** The choice in the body of the call. */
export const revokingKeys = (form: FormData) => ({ revoke_keys: form.has('revoke_keys') })
