import type { Deps } from '../../deps.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import { invalidField } from '../../platform/errors.ts'
import type { Origin } from '../../platform/http/origin.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { listPlacesOf } from '../../tenancy/members/store.ts'
import { foundPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'
import { mailVerificationLink } from '../email-verification/send-verification.ts'
import { evenly } from '../guards/even-time.ts'
import { registerUses } from '../guards/limits.ts'
import { findCredentials, insertUser } from '../users/store.ts'
import { refuseWeakPassword } from './password-policy.ts'

// Far more than founding an account takes, so that neither it nor a mail to the owner shows in the time.
const hiddenMs = 200

export interface RegisterBody {
  email: string
  password: string
  first_name: string
  last_name: string
}

/**
 * Registers a person with a tenant of their own and mails them a verification link, all or nothing. A used address
 * is 400 on `email`, or where REGISTRATION_HIDE_EXISTING is set, 201 as ever and a mail to its owner.
 */
export async function register(
  deps: Deps,
  origin: Origin,
  body: RegisterBody,
): Promise<{ id: string; email: string }> {
  const { config, clock, passwords, limiters } = deps
  await limiters.take(registerUses(origin.ip))
  const { email, first_name: firstName, last_name: lastName } = body
  refuseWeakPassword('password', body.password, { email, firstName, lastName })
  const passwordHash = await passwords.hash(body.password)
  const id = timeOrderedId(clock())
  const person = { id, email, passwordHash, firstName, lastName }
  const settle = async () => {
    if (!(await foundAccount(deps, origin, person))) await answerForUsedAddress(deps, email, origin)
  }
  if (config.REGISTRATION_HIDE_EXISTING) await evenly(hiddenMs, settle)
  else await settle()
  return { id, email }
}

interface NewPerson {
  id: string
  email: string
  passwordHash: string
  firstName: string
  lastName: string
}

/** False, and nothing is kept, where the address has an account. */
function foundAccount(deps: Deps, origin: Origin, person: NewPerson): Promise<boolean> {
  const { id, email, firstName, lastName } = person
  const at = deps.clock()
  const tenantId = timeOrderedId(at)
  return inTenant(deps.db, { tenantId, userId: id }, async (tx) => {
    if (!(await insertUser(tx, { ...person, at }))) return false
    await foundPersonalTenant(tx, { id: tenantId, founder: { id, email, firstName, lastName }, origin, at })
    await appendEvent(tx, {
      type: 'identity.user_created',
      tenantId,
      subject: id,
      data: { user_id: id, email },
      actorId: id,
      requestId: origin.requestId,
      at,
    })
    await mailVerificationLink(deps, tx, { userId: id, email, firstName, tenantId, origin, at })
    return true
  })
}

async function answerForUsedAddress(deps: Deps, email: string, origin: Origin): Promise<void> {
  if (!deps.config.REGISTRATION_HIDE_EXISTING)
    throw invalidField(
      'email',
      'This address has an account already. Log in, or reset the password.',
      'taken',
    )
  await asSystem(deps.db, 'the address belongs to somebody else', async (tx) => {
    const owner = await findCredentials(tx, email)
    const place = owner && (await listPlacesOf(tx, owner.id))[0]
    if (!place) return
    const mail = {
      tenantId: place.tenant_id,
      to: email,
      template: 'address_already_registered',
      variables: {},
    } as const
    await sendMail(tx, deps.sealer, { ...mail, requestId: origin.requestId, at: deps.clock() })
  })
}
