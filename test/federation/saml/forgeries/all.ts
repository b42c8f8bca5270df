import { documents } from './documents.ts'
import { algorithms, signatures } from './signatures.ts'
import { statements } from './statements.ts'
import { ids, wrapping } from './wrapping.ts'

export const forgeries = [wrapping, ids, signatures, algorithms, documents, statements].flat()
