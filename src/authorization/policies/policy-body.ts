import { z } from 'zod'
import { digestOf } from '../../messages/audit/append-audit.ts'
import {
  actions as catalogue,
  isPolicyAction,
  serviceResources,
} from '../../policy-engine/catalogue/actions.ts'
import { reservedName, reservedResources } from '../../policy-engine/catalogue/reserved-names.ts'
import { approvalSchema, policyEffects, subjectsSchema } from '../../policy-engine/compile/policy-document.ts'
import { writtenParts } from '../../policy-engine/compile/written-parts.ts'
import { written } from '../../request/body/known-members.ts'
import { permissionForm } from '../../tenancy/roles/permissions.ts'
import { policySchema, versionSchema } from './show-policy.ts'
import type { PolicyRow, Rules } from './store.ts'

const actionName = z
  .string('Name actions as text.')
  .max(127, 'An action has 127 characters at most.')
  .superRefine((name, context) => {
    if (isPolicyAction(name)) return
    context.addIssue({ code: 'custom', message: faultOfAction(name) })
  })
  .meta({ pattern: `^\\*$|${permissionForm.source}` })

function faultOfAction(name: string): string {
  const [resource = ''] = name.split(':')
  if (reservedResources.includes(resource)) return reservedName(resource)
  return serviceResources.has(resource)
    ? `The service has no action "${name}". Its actions on ${resource} are ${verbsOf(resource)}.`
    : 'An action is resource:verb, resource:* or *, in lower case.'
}

const verbsOf = (resource: string) =>
  Object.keys(catalogue)
    .filter((name) => name.startsWith(`${resource}:`))
    .join(', ')

/** The form of a resource type. */
export const resourceType = z
  .string('Name resource types as text.')
  .regex(
    /^[a-z][a-z0-9_.-]{0,62}$/,
    'A resource type has 1 to 63 of a-z, 0-9, _, . and -, and begins with a letter.',
  )
  .refine((type) => !reservedResources.includes(type), {
    error: ({ input }) => reservedName(String(input)),
  })

const moment = z.iso
  .datetime({ offset: true, error: 'Give a time as RFC 3339, such as 2026-11-21T09:30:00Z.' })
  .transform((text) => Date.parse(text))
  .refine((at) => at >= 0 && at < 253_402_300_800_000, 'Give a time between 1970 and 9999.')
  .nullable()
  .meta({ override: { type: ['string', 'null'], format: 'date-time' } })

/** A part that is validated when the policy is compiled (422), so that any value is accepted here. `form` describes it. */
const part = (name: keyof typeof writtenParts, description: string, form: object) =>
  written(z.unknown().meta({ override: { description, ...form } }), { as: writtenParts[name] }).optional()

/** How the API describes an object that can be null. */
function formOf(schema: z.ZodType) {
  const { $schema: _, ...form } = z.toJSONSchema(schema, {
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.format) delete jsonSchema.pattern
    },
  })
  return { ...form, type: ['object', 'null'] }
}

const obligationForm = {
  type: 'object',
  properties: { type: { type: 'string' }, properties: { type: 'object', additionalProperties: true } },
  required: ['type'],
}

const fields = {
  name: z
    .string('Give the name as text.')
    .trim()
    .min(1, 'Give the policy a name.')
    .max(120, 'A name may have 120 characters at most.'),
  description: z
    .string('Give the description as text.')
    .max(2000, 'A description may have 2000 characters at most.'),
  kind: z.enum(['json', 'rego'], 'The kind is json or rego.'),
  effect: z.enum(policyEffects, 'The effect is allow, deny or require_approval.'),
  actions: z
    .array(actionName, 'Give actions as a list.')
    .min(1, 'Name at least one action.')
    .max(256, 'A policy may name 256 actions at most.'),
  resource_types: z
    .array(resourceType, 'Give resource_types as a list.')
    .max(256, 'A policy may name 256 resource types at most.'),
  mode: z.enum(['enforce', 'shadow'], 'The mode is enforce or shadow.'),
  priority: z
    .int('Give the priority as a whole number.')
    .min(-1_000_000, 'The priority has to be at least -1000000.')
    .max(1_000_000, 'The priority has to be at most 1000000.'),
  valid_from: moment,
  valid_until: moment,
  is_active: z.boolean('Give is_active as true or false.'),
}

const conditionsForm = `\`{all|any|none: […]}\`, nested, or one comparison: \`attribute\` is a defined \`category.key\`,
\`operator\` one of \`exists not_exists eq ne in not_in lt lte gt gte between contains starts_with ends_with matches
in_cidr not_in_cidr contains_any contains_all subset_of in_department\`, as its type permits, with a \`value\` or, in \`value_from\`,
another attribute. Absent or null: always true. 422 \`policy_invalid\` says what is wrong and where.`
const conditionsExample = { attribute: 'resource.tonnage', operator: 'gt', value: 5000 }

const moduleForm = `Of the kind rego, in place of conditions: Rego of the package \`policy\`, up to 64 KiB, with a set \`deny\` or
\`allow\`, as its effect. 409 \`compiler_unavailable\` if the service has no compiler.`
const moduleExample =
  'package policy\n\ndeny contains "Too heavy for the night." if {\n\tinput.environment.hour >= 22\n\tinput.resource.tonnage > 5000\n}\n'

const rulesFields = {
  subjects: part('subjects', 'Absent, null or empty: everyone', formOf(subjectsSchema)),
  conditions: part('conditions', conditionsForm, {
    anyOf: [{ $ref: '#/components/schemas/Condition' }, { type: 'null' }],
    example: conditionsExample,
  }),
  approval: part(
    'approval',
    'What a gate requires; absent members have their default',
    formOf(approvalSchema),
  ),
  obligations: part('obligations', 'Absent or null: none', {
    type: ['array', 'null'],
    items: obligationForm,
  }),
  module: z
    .string('Give the module as text.')
    .nullish()
    .meta({ description: moduleForm, example: moduleExample }),
}

/** Why a policy is changed. */
export const changeReason = z
  .string('Give the reason as text.')
  .max(1000, 'A reason may have 1000 characters at most.')
  .default('')
  .meta({ description: 'The reason for the change; stored with the version' })

/** A member that no policy has would make it apply to more than its author means. Copies of answers are taken. */
const document = { refuses: 'policy_invalid', shownAs: z.union([policySchema, versionSchema]) } as const

/** A new policy. Plain fields are checked here (400), the rules when they are compiled (422). */
export const newPolicy = written(
  z.object({
    name: fields.name,
    description: fields.description.default(''),
    kind: fields.kind.default('json'),
    effect: fields.effect,
    actions: fields.actions,
    resource_types: fields.resource_types.default([]),
    mode: fields.mode.default('enforce'),
    priority: fields.priority.default(0),
    valid_from: fields.valid_from.default(null),
    valid_until: fields.valid_until.default(null),
    is_active: fields.is_active.default(true),
    ...rulesFields,
    change_reason: changeReason,
  }),
  document,
)

/** A change; absent members keep their value. */
export const policyChange = written(
  z.object({
    ...(Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, schema.optional()])) as {
      [Name in keyof typeof fields]: z.ZodOptional<(typeof fields)[Name]>
    }),
    ...rulesFields,
    change_reason: changeReason,
  }),
  document,
)

/** A whole policy that is not saved. */
export const draftPolicy = written(newPolicy.omit({ change_reason: true }), document)

export type NewPolicyBody = z.output<typeof newPolicy>
export type PolicyChange = z.output<typeof policyChange>
export type Draft = z.output<typeof draftPolicy>

/** A stored policy in the shape of a request body. */
export function draftOf({ rules, ...row }: PolicyRow): Draft & Rules {
  const { name, description, kind, effect, actions, resource_types, mode, priority } = row
  const { valid_from, valid_until, is_active } = row
  return {
    name,
    description,
    kind,
    effect,
    actions,
    resource_types,
    mode,
    priority,
    valid_from,
    valid_until,
    is_active,
    ...rules,
  }
}

/** The same for the audit log: a digest in place of the text of a module, which stands in the versions. */
export function auditedPolicy(row: PolicyRow): Record<string, unknown> {
  const draft = draftOf(row)
  return { ...draft, ...(draft.module !== undefined && { module: digestOf(draft.module) }) }
}
