import type { FindObject, ObjectFinders } from '../platform/find-object.ts'
import { toJsonDevice } from './otp/device-schemas.ts'
import { findDevice } from './otp/store.ts'
import { toJsonSession } from './sessions/list-sessions.ts'
import { findSessionOf } from './sessions/store.ts'
import { findUserOf } from './users/store.ts'
import { userResource } from './users/user-schemas.ts'

const person: FindObject = async (tx, { tenantId }, id) => {
  const user = await findUserOf(tx, tenantId, id)
  return user && userResource(user)
}

/**
 * The objects of this context, as policy decisions see them. Sessions and devices are found only for their own person. An
 * object without an id of its own has its person's id.
 */
export const identityObjects: ObjectFinders = {
  user: person,
  profile: person,
  password: person,
  email_verification: person,
  otp: person,
  // The object of a question about access is the person whose access it asks about.
  access: person,
  async session(tx, { userId, now }, id) {
    const session = await findSessionOf(tx, userId, now, id)
    return session && { ownerId: userId, fields: toJsonSession(session, '') }
  },
  async otp_device(tx, { userId, now }, id) {
    const device = await findDevice(tx, userId, id)
    return device && { ownerId: userId, fields: toJsonDevice(device, now) }
  },
}
