import { z } from 'zod'

// zod compiles a schema at its first use, which takes longer than most statements. So each schema of a row is made once,
// never in the function that asks.

/** The row of a statement that finds, changes or deletes one object. */
export const idRow = z.object({ id: z.uuid() })

/** The row of a statement that counts. */
export const countRow = z.object({ count: z.number() })
