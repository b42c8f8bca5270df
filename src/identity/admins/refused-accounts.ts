import { ApiError } from '../../errors.ts'

/** 409: a command about an account that has to be activated first. */
export const inactive = () =>
  new ApiError(409, 'inactive', 'This person is deactivated. First: npm run cli -- users:activate')

/** 409: the account was verified, deactivated or moved to another address while the command ran. */
export const changed = () =>
  new ApiError(409, 'changed', 'This account changed just now. Look at it, and run the command again.')
