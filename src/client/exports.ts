// What `@bailiwick/client` exports.
export type * from './api-types.ts'
export type { AuthorizeOptions, Question } from './authorize.ts'
export { type Client, type ClientOptions, createClient } from './client.ts'
export { bearer, type Credentials, type FreshPair, keepFresh } from './credentials.ts'
export { type Access, createGuard, type Guard, type Refusal } from './guard.ts'
export type { AnswerOf, CallOptions, Input, ListOperation, Operation, RowOf } from './operations.ts'
export { type FieldFault, isProblem, NoAnswer, Problem } from './problem.ts'
export {
  type AccessClaims,
  TokenNotValid,
  tokenVerifier,
  type VerifierOptions,
  type VerifyToken,
} from './verify-token.ts'
