import { z } from 'zod'
import {
  attributeKey,
  attributeKeySentence,
  isReservedKey,
  reservedKeySentence,
} from '../../policy-engine/catalogue/attribute-keys.ts'
import { dataTypes } from '../../policy-engine/compile/conditions.ts'
import { categories, sources } from './store.ts'

export const scalar = z.union([z.string().max(1024), z.number(), z.boolean()])

/** A new definition of an attribute. */
export const newDefinition = z.object({
  key: z
    .string('Give the key as text.')
    .regex(attributeKey, attributeKeySentence)
    .refine((key) => !isReservedKey(key), reservedKeySentence)
    .meta({ description: 'Compared exactly. No two of a category differ by case alone' }),
  display_name: z
    .string('Give the display name as text.')
    .trim()
    .min(1, 'A display name has at least one character.')
    .max(120, 'A display name may have 120 characters at most.')
    .optional(),
  category: z.enum(categories, `The category is one of ${categories.join(', ')}.`),
  data_type: z.enum(dataTypes, `The data type is one of ${dataTypes.join(', ')}.`),
  allowed_values: z
    .array(scalar, 'Give allowed_values as a list of texts, numbers, or true and false.')
    .min(1, 'Allow at least one value, or leave allowed_values out.')
    .max(256, 'Allow 256 values at most.')
    .nullable()
    .default(null),
  is_required: z.boolean('Give is_required as true or false.').default(false),
  description: z
    .string('Give the description as text.')
    .max(2000, 'A description may have 2000 characters at most.')
    .default(''),
  source: z
    .enum(sources, `The source is ${sources.join(' or ')}.`)
    .default('registered')
    .meta({
      description:
        'Of registered resources: `registered`, only what is registered counts; `caller`, a question can give it, too',
    }),
})
