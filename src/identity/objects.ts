import { nilUuid } from '../crypto/uuid.ts'
import type { FindObject, ObjectFinders } from '../lists/find-object.ts'
import { lister, type ObjectListers } from '../lists/list-objects.ts'
import { userList } from '../tenancy/members/list-store.ts'
import { keyResource } from './api-keys/key-schemas.ts'
import { findVisibleKey, keyList, listVisibleKeys } from './api-keys/store.ts'
import { toJsonIdentity } from './federated/identity-schemas.ts'
import { findIdentityOf, identityList, listIdentities } from './federated/list-store.ts'
import { toJsonDevice } from './otp/device-schemas.ts'
import { deviceList, findDevice, listDevices } from './otp/store.ts'
import { toJsonPasskey } from './passkeys/credential-schemas.ts'
import { findPasskey, listPasskeys, passkeyList } from './passkeys/store.ts'
import { toJsonSession } from './sessions/list-sessions.ts'
import { findSessionOf, listSessionsOf, sessionList } from './sessions/store.ts'
import { findUserNamed, findUserOf, listUsersOf } from './users/store.ts'
import { userResource } from './users/user-schemas.ts'

const person: FindObject = async (read, { tenantId }, id) => {
  const user = await findUserOf(read, tenantId, id)
  return user && userResource(user)
}

/**
 * The objects of this context, as policy decisions see them. Sessions, devices and passkeys are found only for their own
 * person. An object without an id of its own has its person's id.
 */
export const identityObjects: ObjectFinders = {
  async user(read, { tenantId }, name) {
    const user = await findUserNamed(read, tenantId, name)
    return user && userResource(user)
  },
  profile: person,
  password: person,
  email_verification: person,
  otp: person,
  // The object of a question about access is the person whose access it asks about.
  access: person,
  async session(read, { userId, now }, id) {
    const session = await findSessionOf(read, { userId, sessionId: nilUuid }, now, id)
    return session && { ownerId: userId, fields: toJsonSession(session, '') }
  },
  async passkey(read, { userId }, id) {
    const passkey = await findPasskey(read, userId, id)
    return passkey && { ownerId: userId, fields: toJsonPasskey(passkey) }
  },
  async identity(read, { userId }, id) {
    const identity = await findIdentityOf(read, userId, id)
    return identity && { ownerId: userId, fields: toJsonIdentity(identity, []) }
  },
  async api_key(read, scope, id) {
    const key = await findVisibleKey(read, scope, id)
    return key && keyResource(key)
  },
  async otp_device(read, { userId, now }, id) {
    const device = await findDevice(read, userId, id)
    return device && { ownerId: userId, fields: toJsonDevice(device, now) }
  },
}

const people = lister(userList, (tx, { tenantId }, page) => listUsersOf(tx, tenantId, page), userResource)

/** Lists the objects of this context, for searches. Sessions, devices and passkeys are those of the searching person. */
export const identityLists: ObjectListers = {
  user: people,
  profile: people,
  password: people,
  email_verification: people,
  otp: people,
  access: people,
  session: lister(
    sessionList,
    async (tx, { userId, now }, page) =>
      (await listSessionsOf(tx, { userId, sessionId: nilUuid }, now, page)).map((session) => ({
        ...session,
        userId,
      })),
    ({ userId, ...session }) => ({
      id: session.id,
      ownerId: userId,
      fields: toJsonSession(session, ''),
    }),
  ),
  passkey: lister(
    passkeyList,
    async (tx, { userId }, page) =>
      (await listPasskeys(tx, userId, page)).map((passkey) => ({ ...passkey, userId })),
    ({ userId, ...passkey }) => ({ id: passkey.id, ownerId: userId, fields: toJsonPasskey(passkey) }),
  ),
  identity: lister(
    identityList,
    async (tx, { userId }, page) =>
      (await listIdentities(tx, userId, page)).map((identity) => ({ ...identity, userId })),
    ({ userId, ...identity }) => ({ id: identity.id, ownerId: userId, fields: toJsonIdentity(identity, []) }),
  ),
  api_key: lister(keyList, listVisibleKeys, keyResource),
  otp_device: lister(
    deviceList,
    async (tx, { userId, now }, page) =>
      (await listDevices(tx, userId, page)).map((device) => ({ ...device, userId, now })),
    ({ userId, now, ...device }) => ({
      id: device.id,
      ownerId: userId,
      fields: toJsonDevice(device, now),
    }),
  ),
}
