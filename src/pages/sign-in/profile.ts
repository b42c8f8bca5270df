import { chooseLanguage } from '../../languages/choose-language.ts'
import { formatMoment } from '../../languages/format.ts'
import { type Calls, unlessSignedOut } from './calls.ts'
import type { Visit } from './visit.ts'

interface Tenant {
  id: string
  slug: string
  name: string
}

/** What the pages read of a person. */
export interface Profile {
  email: string
  email_verified: boolean
  first_name: string
  last_name: string
  locale: string | null
  zoneinfo: string | null
  mfa_enabled: boolean
  current_tenant: Tenant
  memberships: { tenant: Tenant }[]
}

/**
 * The person who is signed in; null if there is none. The page speaks their language from here on, unless the link that led
 * to the pages named one.
 */
export async function profileOf(calls: Pick<Calls, 'profile'>, visit: Visit): Promise<Profile | null> {
  const profile = (await unlessSignedOut(calls.profile(visit.http))) as Profile | null
  if (profile?.locale && !visit.flow.locale) {
    const texts = chooseLanguage(profile.locale, visit.language)
    visit.texts = texts.pages
    visit.language = texts.code
  }
  return profile
}

/** A moment (ms since 1970) as a person reads it, in their time zone. */
export const momentFor = ({ language }: Visit, { zoneinfo }: Profile, at: number): string =>
  formatMoment(at, chooseLanguage(language).format, zoneinfo ?? undefined)

export const nameOf = ({ first_name, last_name, email }: Profile) =>
  `${first_name} ${last_name}`.trim() || email
