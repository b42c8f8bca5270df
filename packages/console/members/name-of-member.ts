import type { Member } from '@bailiwick/client'
import { nameOf } from '../parts/avatar.tsx'

/** The name of a person, or their address without one; the name of a service account. */
export const nameOfMember = ({ user, service_account }: Member): string =>
  user ? nameOf(user) || user.email : (service_account?.name ?? '')
