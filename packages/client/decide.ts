import type { EvaluationAnswer, EvaluationRequest } from './api-types.ts'
import type { AnyInput } from './operations.ts'

/** A question of the AuthZEN Authorization API: may `subject` do `action` on `resource`? */
export type Question = EvaluationRequest

type Context = EvaluationAnswer['context']
export type Reason = Context['reasons'][number]
export type Obligation = Context['obligations'][number]
export type StepUp = NonNullable<Context['step_up']>

/** Where to ask for an approval. */
export type ApprovalWay = NonNullable<Context['approval']>
/** A request for an approval that stands: pending until `expires_at`, or to be used once before `valid_until`. */
export type OpenApproval = NonNullable<Context['approval_request']>

export interface DecideOptions {
  /** ms until there is no decision; 1,000 if absent. */
  deadlineMs?: number
  /** Types of obligations that you carry out, such as `mask_fields`. With any other obligation it is not allowed. */
  obligations?: readonly string[]
}

export interface AuthorizeOptions extends DecideOptions {
  /** Is told why there was no decision, for your log. */
  onFailure?(error: unknown): void
}

/** All that the service says about a question. */
export interface AccessDecision {
  /** Whether to do it: permitted, with nothing left over: no obligation, no step-up, no approval that has to be used. */
  allowed: boolean
  /** Null: there is no decision, for the reason `error`. */
  effect: Context['effect'] | null
  /** In the log of decisions: `GET /decisions/{id}/explain/`. */
  decision_id: string | null
  reasons: readonly Reason[]
  obligations: readonly Obligation[]
  /** The obligations that are not carried out: neither by you, nor by the service. */
  unmet: readonly Obligation[]
  /** How the caller has to authenticate first, if the question is about them. */
  step_up: StepUp | null
  /** Where to ask for the approval that is required. */
  approval: ApprovalWay | null
  approval_request: OpenApproval | null
  /** `Problem`, `NoAnswer` or another error, if there is no decision. */
  error: unknown
}

/** Asks the service. Never throws: no answer, one that comes too late, and one of another form are no decision. */
export async function decide(
  call: (operation: string, input: AnyInput) => Promise<unknown>,
  question: Question,
  { deadlineMs = 1_000, obligations = [] }: DecideOptions = {},
): Promise<AccessDecision> {
  try {
    return decisionIn(await call('POST /access/v1/evaluation', { body: question, deadlineMs }), obligations)
  } catch (error) {
    return { ...undecided, error }
  }
}

const undecided: AccessDecision = {
  allowed: false,
  effect: null,
  decision_id: null,
  reasons: [],
  obligations: [],
  unmet: [],
  step_up: null,
  approval: null,
  approval_request: null,
  error: undefined,
}

function decisionIn(answer: unknown, carriedOut: readonly string[]): AccessDecision {
  const { decision, context } = answer as { decision: unknown; context: Context }
  const { id, effect, reasons, obligations, step_up, approval = null, approval_request = null } = context
  // Null: the session meets it. A service before 0.3 does not say.
  const met = (type: string) => carriedOut.includes(type) || (type === 'step_up' && step_up === null)
  const unmet = obligations.filter(({ type }) => !met(type))
  return {
    // An approved request is used once, and this decision did not use it.
    allowed: decision === true && effect === 'allow' && unmet.length === 0 && !approval_request,
    effect,
    decision_id: id,
    reasons,
    obligations,
    unmet,
    step_up: step_up ?? null,
    approval,
    approval_request,
    error: undefined,
  }
}
