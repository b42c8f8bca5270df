// What `@bailiwick/client` exports.
export type * from './api-types.ts'
export type { Approvals } from './approvals.ts'
export {
  type Caller,
  type PersonalKeyCaller,
  type ServiceAccountCaller,
  subjectOf,
  type TokenCaller,
} from './caller.ts'
export { type Client, type ClientOptions, createClient } from './client.ts'
export {
  bearer,
  type ClientCredentialsOptions,
  type Credentials,
  clientCredentials,
  type FreshPair,
  keepFresh,
} from './credentials.ts'
export type {
  AccessDecision,
  ApprovalWay,
  AuthorizeOptions,
  DecideOptions,
  Obligation,
  OpenApproval,
  Question,
  Reason,
  StepUp,
} from './decide.ts'
export { type Comparison, NotTranslatable, type TranslationOptions } from './filter.ts'
export {
  type Access,
  type AccessOf,
  createGuard,
  type Guard,
  type GuardOptions,
  type LetIn,
} from './guard.ts'
export type {
  AnswerOf,
  CallOptions,
  Input,
  ListOperation,
  Operation,
  RowOf,
  StorableOperation,
  Stored,
} from './operations.ts'
export { type Predicate, predicateOf } from './predicate.ts'
export { type FieldFault, isProblem, NoAnswer, Problem } from './problem.ts'
export type { Refusal } from './refusal.ts'
export { WrongService } from './service-check.ts'
export { type Column, type Sql, type SqlOptions, sqlOf } from './sql.ts'
export {
  type AccessClaims,
  TokenNotValid,
  tokenVerifier,
  type VerifierOptions,
  type VerifyToken,
} from './verify-token.ts'
export { type SignedRequest, verifyWebhook, WebhookNotValid } from './verify-webhook.ts'
