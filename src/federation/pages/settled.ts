import type { FactorDue, Opened } from '../../identity/sign-in/outcome.ts'
import type { Calls, PageDeps } from '../../pages/sign-in/calls.ts'
import { afterFactor } from '../../pages/sign-in/password.ts'
import { go, type Shown, type Visit } from '../../pages/sign-in/visit.ts'
import { noteSignIn } from '../connections/sign-ins/note-sign-in.ts'
import { hold, holdForMail } from '../hold.ts'
import { type Said, type SettleAsked, settle } from '../settle.ts'

/** The flows of pages that a browser can have begun with: the one before took too long. */
export const browsersOf = ({ flow: { id, before } }: Visit): string[] => (before ? [id, before] : [id])

interface Asked extends Omit<SettleAsked, 'hereId' | 'requestInfo'> {
  /** The person said that they want to replace who is signed in. */
  replaces?: boolean
}

/** Signs in, or shows what has to come first. */
export async function settled(
  deps: PageDeps,
  calls: Calls,
  visit: Visit,
  { replaces = false, ...asked }: Asked,
): Promise<Shown> {
  const { http } = visit
  const { requestInfo } = http.state
  const here = replaces ? null : await calls.whoIsHere(http)
  const { upstream, said: all } = asked
  const outcome = await settle(deps, { ...asked, hereId: here?.userId ?? null, requestInfo }).catch(
    async (error) => {
      await noteSignIn(deps, upstream, all, { error })
      throw error
    },
  )
  if (outcome.kind !== 'held') {
    await noteSignIn(deps, upstream, all, {
      outcome: outcome.hasJoined ? 'joined' : 'signed_in',
      userId: personOf(outcome),
    })
    visit.keep({ heldBy: undefined, heldToken: undefined })
    return afterFactor(visit, calls, await calls.keep(http, outcome))
  }
  const { flowId, madeId } = asked
  const { waitsFor } = outcome
  const said = wordOf(asked)
  const { email } = said
  if (waitsFor === 'mail' && email !== null)
    await holdForMail(deps, requestInfo, flowId, { name: upstream.name, said: { ...said, email } })
  else await hold(deps, flowId, { waitsFor, name: upstream.name, said, madeId })
  visit.keep({ heldBy: flowId, heldToken: undefined })
  return go('provider')
}

const personOf = (outcome: Opened | FactorDue): string =>
  outcome.kind === 'opened' ? outcome.grant.session.userId : outcome.challenge.entry.userId

/** What is kept of it. Only a connection has a mapping, which reads the claims. */
const wordOf = ({
  upstream: { tenantId },
  said: { issuer, attribute, subject, email, isAuthority, firstName, lastName, amr, authTime, claims },
}: Asked): Said => ({
  issuer,
  attribute,
  subject,
  email,
  isAuthority,
  firstName,
  lastName,
  amr,
  authTime,
  claims: tenantId === null ? {} : claims,
})
