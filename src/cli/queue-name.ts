import { queues } from '../platform/jobs/queues.ts'
import { oneOf } from './options.ts'

/** The name of a queue; a misspelt one is refused with the names that there are, for its list would be empty. */
export const queueName = oneOf(...(Object.keys(queues) as (keyof typeof queues)[]))
