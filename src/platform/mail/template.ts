import { z } from 'zod'
import type { Letter } from './letter.ts'

/** A mail: the form of its variables, and the function that writes it. */
export const template = <Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  write: (variables: z.output<z.ZodObject<Shape>>) => Letter,
) => ({ variables: z.strictObject(shape), write })

/** How a mail begins. */
export const hello = (firstName: string) => (firstName ? `Hello ${firstName},` : 'Hello,')
